// Package batch cuts a stream of token ids into windows and hands them out as [B, T] batches in an order that depends only on the seed.
package batch

// Batch is B sequences of T tokens. Targets[b*T+t] is the token after Inputs[b*T+t], or -1 where there is none to predict.
type Batch struct {
	B, T    int
	Inputs  []int32 // [B*T]
	Targets []int32 // [B*T]
	Docs    []int32 // [B*T] document ids for attention inside documents only; nil when attention crosses documents
}

// Cursor is a place in the stream of batches: the next window to be read is number Window of the permutation of epoch Epoch. It is a
// value; a checkpoint holds it.
type Cursor struct {
	Epoch  int64 `json:"epoch"`
	Window int64 `json:"window"`
}
