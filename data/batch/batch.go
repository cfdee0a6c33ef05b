// Package batch cuts a stream of token ids into rows and hands them out as [B, T] batches in an order that depends only on the seed.
package batch

// Batch is B sequences of T tokens. Targets[b*T+t] is the token after Inputs[b*T+t], or -1 where there is none to predict.
type Batch struct {
	B, T    int
	Inputs  []int32 // [B*T]
	Targets []int32 // [B*T]
	Docs    []int32 // [B*T] document ids for attention inside documents only; nil when attention crosses documents

	docs []int32 // memory of Docs
}

// Cursor is a place in the stream of batches: the next row to be read is number Window of the permutation of epoch Epoch. It is a value; a
// checkpoint holds it.
type Cursor struct {
	Epoch   int64          `json:"epoch"`
	Window  int64          `json:"window"`
	Mixture *MixtureCursor `json:"mixture,omitempty"` // of a [Mixture], which has no epoch and window of its own; is not changed once made
}

// Feed hands out training batches: a [Loader] or a [Mixture].
type Feed interface {
	// Next fills dst with the next batch and moves on; after an error the feed stands where it stood.
	Next(dst *Batch) error
	// Cursor is the place of the next batch.
	Cursor() Cursor
	// Seek continues at a place that Cursor returned.
	Seek(c Cursor) error
}

// resize gives the batch its shape, with document ids or without; its contents are undefined afterwards.
func (d *Batch) resize(B, T int, documents bool) {
	n := B * T
	if cap(d.Inputs) < n || cap(d.Targets) < n {
		d.Inputs, d.Targets = make([]int32, n), make([]int32, n)
	}
	d.B, d.T, d.Inputs, d.Targets, d.Docs = B, T, d.Inputs[:n], d.Targets[:n], nil
	if documents {
		if cap(d.docs) < n {
			d.docs = make([]int32, n)
		}
		d.Docs = d.docs[:n]
	}
}
