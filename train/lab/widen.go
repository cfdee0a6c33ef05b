package lab

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"prenorm/data/regular"
	"prenorm/model/block"
)

// labelFormat is a run's name: what it may differ in from others of its grid.
const labelFormat = "%s lr %g warm-up %d seed %d"

// Widen adds to a trained grid the finished runs of the runner's folder that earlier commands left there, where their placement, rate, warm-up or seed
// is another and everything else is the same. It returns the wider grid, its places and the number of runs that were added. Places of a widened grid
// can have different seeds, and not every rate is there for every placement.
func (g Grid) Widen(r *Runner, places []Place) (Grid, []Place, int, error) {
	folder := filepath.Join(r.Dir, CellsFolder)
	files, err := os.ReadDir(folder)
	if err != nil {
		return g, nil, 0, fmt.Errorf("results of earlier starts: %w", err)
	}
	wide := g
	wide.Placements, wide.Rates, wide.Seeds, wide.Warmups = slices.Clone(g.Placements), slices.Clone(g.Rates), slices.Clone(g.Seeds), slices.Clone(g.warmups())
	slices.Sort(wide.Rates)
	slices.Sort(wide.Seeds)
	slices.Sort(wide.Warmups)
	places = slices.Clone(places)
	added := 0
	for _, file := range files {
		if filepath.Ext(file.Name()) != ".json" {
			continue
		}
		p, seed, err := g.kept(r, filepath.Join(folder, file.Name()))
		if err != nil {
			return g, nil, 0, err
		}
		if p.Runs == nil || slices.Contains(g.Placements, p.Placement) && slices.Contains(g.Rates, p.Rate) && slices.Contains(g.Seeds, seed) && slices.Contains(g.warmups(), p.Warmup) {
			continue
		}
		added++
		insert(&wide.Rates, p.Rate)
		insert(&wide.Seeds, seed)
		insert(&wide.Warmups, p.Warmup)
		if !slices.Contains(wide.Placements, p.Placement) {
			wide.Placements = append(wide.Placements, p.Placement)
		}
		at := slices.IndexFunc(places, func(q Place) bool { return q.Placement == p.Placement && q.Rate == p.Rate && q.Warmup == p.Warmup })
		if at < 0 {
			places = append(places, p)
			continue
		}
		places[at].Runs = append(slices.Clone(places[at].Runs), p.Runs...)
	}
	slices.Sort(wide.Placements[len(g.Placements):])
	order := func(p Place) int { return slices.Index(wide.Placements, p.Placement) }
	slices.SortFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a.Warmup, b.Warmup), cmp.Compare(a.Rate, b.Rate))
	})
	return wide, places, added, nil
}

// kept reads a finished run as a place of its own, without runs where the file is damaged or the settings are not the grid's: the file's name, which is
// made of all of them, is another then.
func (g Grid) kept(r *Runner, file string) (p Place, seed int64, err error) {
	text, err := regular.ReadFile(file)
	if err != nil {
		return p, 0, fmt.Errorf("a result of an earlier start: %w", err)
	}
	var result CellResult
	if json.Unmarshal(text, &result) != nil {
		return p, 0, nil
	}
	n, _ := fmt.Sscanf(result.Label, labelFormat, &p.Placement, &p.Rate, &p.Warmup, &seed)
	if n != 4 || !slices.Contains(block.Names(), p.Placement) {
		return p, 0, nil
	}
	path, err := r.path(g.cell(p.Placement, p.Rate, p.Warmup, seed))
	if err == nil && path == file {
		p.Runs = []CellResult{result}
	}
	return p, seed, err
}

// insert puts a value into an ascending list, once.
func insert[T cmp.Ordered](list *[]T, v T) {
	if at, found := slices.BinarySearch(*list, v); !found {
		*list = slices.Insert(*list, at, v)
	}
}
