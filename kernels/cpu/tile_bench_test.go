package cpu

import (
	"fmt"
	"testing"
)

// BenchmarkTiles times tiles alone: one panel of B that stays in the first cache where it fits, or those of a task, from the second.
func BenchmarkTiles(b *testing.B) {
	for _, t := range tiers() {
		if t == portable {
			continue
		}
		for _, inRows := range []bool{false, true} {
			for _, panels := range []int{1, 8} {
				for _, depth := range []int{128, blockK} {
					form, tiles, lda := "columns", t.inColumns, t.rows
					if inRows {
						form, tiles, lda = "rows", t.inRows, 768+16
					}
					b.Run(fmt.Sprintf("%s/%s/%dpanels/k%d", t.name, form, panels, depth), func(b *testing.B) {
						x, w, c := make([]float32, t.rows*lda+t.rows*depth), make([]float32, panels*(depth*t.cols+panelPad)), make([]float32, t.rows*t.cols*panels)
						for b.Loop() {
							for p := range panels {
								tiles[t.rows](depth, &x[0], lda, &w[p*(depth*t.cols+panelPad)], t.cols, &c[p*t.cols], t.cols*panels, t.cols, nil, nil, nil, 0, nil, 0, 0)
							}
						}
						flops := 2 * float64(t.rows*t.cols*depth*panels)
						b.ReportMetric(flops*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
					})
				}
			}
		}
	}
}
