package train

import (
	"fmt"

	"prenorm/data/batch"
	"prenorm/model"
)

// setDocuments copies the document ids of micro-batch i and the positions that follow from them.
func (s *Stepper) setDocuments(p *pass, i int, m *batch.Batch) error {
	if rows := len(s.documents.data); len(m.Docs) != rows {
		return fmt.Errorf("train: micro-batch %d has %d document ids, the step was made for %d", i, len(m.Docs), rows)
	}
	copy(s.documents.data, m.Docs)
	restart(s.positions.data, m.Docs, m.T)
	if err := s.set(p, model.InDocuments, s.documents.boxed); err != nil {
		return err
	}
	return s.set(p, model.InPositions, s.positions.boxed)
}

// restart fills in positions that begin at 0 in every document of every row of T tokens, so that a document is computed as if it stood alone.
func restart(positions, docs []int32, T int) {
	for i := range docs {
		if i%T == 0 || docs[i] != docs[i-1] {
			positions[i] = 0
		} else {
			positions[i] = positions[i-1] + 1
		}
	}
}
