package main

import (
	"testing"

	"prenorm/configs/problem/problemtest"
	"prenorm/train/bench"
)

// FuzzReport reads any bytes as the older report of bench --compare: refused with the file's name, or ratios of positive numbers.
func FuzzReport(f *testing.F) {
	for _, s := range []string{"", "null", `{"ceilings":{"copy_gb_s":1}}`, `{"ceilings":{"copy":1e-320},"train":{"min":0,"tokens":1e308},"kernels":[{"kernel":"x","shape":"y","seconds":0}],"sample":[null]}`,
		`{"ceilings":{"copy":-1}}`, `{"ceilings":{"copy":1e999}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		problemtest.Bounded(t, len(data), 100, func() {
			old, err := reportOf("old.json", data)
			if err != nil {
				problemtest.Says(t, err, "--compare: old.json")
				return
			}
			ratios, _ := bench.Compare(old, old)
			for _, r := range ratios {
				if !(r.Ratio > 0) {
					t.Errorf("%+v", r)
				}
			}
		})
	})
}
