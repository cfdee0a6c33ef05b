package checkpoint

import "testing"

// TestEveryOperationFails fails operation i, for every i, in four ways, and looks at what the same process and the next one find.
func TestEveryOperationFails(t *testing.T) {
	faults := 0
	for _, s := range scripts() {
		t.Run(s.name, func(t *testing.T) {
			prepared := s.prepare(t)
			n := s.operations(t, prepared)
			for _, kind := range []fault{failOnce, failLate, failEver, failWrite} {
				for i := 1; i <= n; i++ {
					m := prepared.clone()
					m.arm(kind, i)
					_ = s.run(m)
					faults++
					m.arm(noFault, 0)
					if err := s.check(m); err != nil {
						t.Fatalf("fault %d at operation %d of %d: %v", kind, i, n, err)
					}
					if err := s.recover(m); err != nil {
						t.Fatalf("fault %d at operation %d of %d, then recovered: %v", kind, i, n, err)
					}
				}
			}
		})
	}
	t.Logf("%d failures of a file operation", faults)
}

// TestSaveReportsFaults wants an error whenever a checkpoint could not be made durable.
func TestSaveReportsFaults(t *testing.T) {
	s := script{before: saves(at(100, "a")), run: save(at(200, "b")), old: at(100, "a"), new: at(200, "b")}
	prepared := s.prepare(t)
	for i := 1; i <= s.operations(t, prepared); i++ {
		for _, kind := range []fault{failOnce, failLate, failEver, failWrite} {
			m := prepared.clone()
			m.arm(kind, i)
			err := s.run(m)
			m.powerCut(0)
			dir, _, _ := Latest(m, root)
			if saved := dir == join(root, folderName(200)); err == nil && !saved {
				t.Errorf("fault %d at operation %d: no error, and no checkpoint", kind, i)
			}
		}
	}
}

// TestPowerCut cuts the power at operation i, for every i.
func TestPowerCut(t *testing.T) {
	cuts := 0
	for _, s := range scripts() {
		t.Run(s.name, func(t *testing.T) {
			prepared := s.prepare(t)
			n := s.operations(t, prepared)
			for i := 1; i <= n+1; i++ {
				for seed := range uint64(6) {
					m := prepared.clone()
					m.arm(failEver, i)
					err := s.run(m)
					m.powerCut(seed)
					cuts++
					if err := s.check(m); err != nil {
						t.Fatalf("power cut at operation %d of %d, seed %d: %v", i, n, seed, err)
					}
					if latest := only(m, *s.new); err == nil && latest != nil {
						t.Fatalf("power cut at operation %d of %d, seed %d: all seemed done, but %v", i, n, seed, latest)
					}
					if err := s.recover(m); err != nil {
						t.Fatalf("power cut at operation %d of %d, seed %d, then recovered: %v", i, n, seed, err)
					}
				}
			}
		})
	}
	t.Logf("%d cuts of the power", cuts)
}
