package batch

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

// numbered are the tokens 1 … n; padding is 0.
func numbered(n int) IDs { return count(n + 1)[1:] }

// bordered is n numbered tokens in documents of random lengths.
func bordered(r *rand.Rand, n, longest int, separated bool) Text {
	starts := Places{0}
	for at := 1 + r.IntN(longest); at < n; at += 1 + r.IntN(longest) {
		starts = append(starts, int64(at))
	}
	return Text{Tokens: numbered(n), Starts: starts, Separated: separated}
}

// rules are all there are.
var rules = []Rule{{}, {Closed: true}, {Whole: true}, {Whole: true, Closed: true}}

// place is a token's document, and whether the token after it is its target.
func place(r Rule, text Text, token int32) (document int, predicts bool) {
	starts := text.Starts.(Places)
	i, found := slices.BinarySearch(starts, int64(token)-1)
	if !found {
		i--
	}
	last := int64(token) == text.Len()
	_, border := slices.BinarySearch(starts, int64(token))
	return i, !last && !(border && !text.Separated && (r.Whole || r.Closed))
}

// checkRows wants rows to hold each token of want once, with the target and the document that it has in the text, and returns the padding.
func checkRows(t *testing.T, r Rule, text Text, rows []Batch, want []int32) (padding int) {
	t.Helper()
	var seen []int32
	for _, b := range rows {
		for n := range b.B {
			at, ids, inputs, targets := n*b.T, map[int]int32{}, row(b.Inputs, n, b.T), row(b.Targets, n, b.T)
			end := b.T // of the tokens
			for ; end > 0 && inputs[end-1] == 0; end-- {
				if targets[end-1] != -1 {
					t.Fatalf("%+v: padding has target %d", r, targets[end-1])
				}
			}
			padding += b.T - end
			for i := range end {
				token := inputs[i]
				seen = append(seen, token)
				document, predicts := place(r, text, token)
				if wants := token + 1; predicts && targets[i] != wants || !predicts && targets[i] != -1 {
					t.Fatalf("%+v: token %d has target %d", r, token, targets[i])
				}
				if (b.Docs != nil) != r.Closed {
					t.Fatalf("%+v: document ids %v", r, b.Docs)
				}
				if b.Docs == nil {
					continue
				}
				id, known := ids[document]
				if !known {
					for other, taken := range ids {
						if taken == b.Docs[at+i] {
							t.Fatalf("%+v: documents %d and %d are both %d", r, document, other, taken)
						}
					}
					ids[document] = b.Docs[at+i]
				} else if id != b.Docs[at+i] {
					t.Fatalf("%+v: document %d is %d and %d", r, document, id, b.Docs[at+i])
				}
			}
			for i := end; i < b.T && b.Docs != nil; i++ {
				for _, taken := range ids {
					if b.Docs[at+i] == taken {
						t.Fatalf("%+v: padding is in document %d", r, taken)
					}
				}
			}
		}
	}
	slices.Sort(seen)
	if !slices.Equal(seen, want) {
		t.Fatalf("%+v: %d tokens, want %d: %.300s", r, len(seen), len(want), fmt.Sprint(seen))
	}
	return padding
}

// TestPackingVisitsEveryTokenOnce wants each epoch to hold every token once, documents whole, and the waste to be as announced.
func TestPackingVisitsEveryTokenOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		text := bordered(r, 40+r.IntN(9000), []int{1, 3, 9, 40, 300}[i%5], i%2 == 0)
		rule := Rule{Whole: true, Closed: i%3 > 0}
		T := []int{1, 7, 16, 31}[i%4]
		l, err := rule.Loader(text, 1, T, int64(i))
		if err != nil {
			t.Fatal(err)
		}
		var orders [][]int32
		for range 2 {
			var rows []Batch
			for e := l.Cursor().Epoch; l.Cursor().Epoch == e; {
				rows = append(rows, next(t, l, 1)...)
			}
			padding := checkRows(t, rule, text, rows, numbered(int(text.Len())))
			p := l.Packing()
			if p.Rows != int64(len(rows)) || p.Tokens != text.Len() || padding != int(p.Waste()*float64(p.Rows)*float64(T)+0.5) {
				t.Fatalf("%d rows with %d places of padding, announced %+v, waste %v", len(rows), padding, p, p.Waste())
			}
			checkWhole(t, text, rows, T)
			orders = append(orders, rows[0].Inputs)
			if len(rows) > 1 {
				orders[len(orders)-1] = append(slices.Clone(rows[0].Inputs), rows[1].Inputs...)
			}
		}
		if l.Packing().Rows > 50 && slices.Equal(orders[0], orders[1]) {
			t.Errorf("two epochs begin alike: %v", orders[0])
		}
	}
}

// checkWhole wants documents to be cut nowhere but after each T tokens.
func checkWhole(t *testing.T, text Text, rows []Batch, T int) {
	t.Helper()
	starts := text.Starts.(Places)
	for _, b := range rows {
		for i := 1; i < T; i++ {
			before, token := b.Inputs[i-1], b.Inputs[i]
			if token == 0 {
				break
			}
			d, err := document(starts, int64(token)-1)
			if err != nil {
				t.Fatal(err)
			}
			if token != before+1 && (int64(token)-1-starts[d])%int64(T) != 0 {
				t.Fatalf("row %v: token %d does not begin a document or a part of one", b.Inputs, token)
			}
		}
	}
}

// TestPackingIsBestFit compares rows with those that are known for a few documents.
func TestPackingIsBestFit(t *testing.T) {
	// Lengths 5, 4, 3, 3, 2, 2, 1, 21 with T = 8: 21 is two full rows and 5. Then 5+3, 5+3, 4+2+2, 1.
	text := Text{Tokens: count(41), Starts: Places{0, 5, 9, 12, 15, 17, 19, 20}, Separated: true}
	e, err := Rule{Whole: true}.Eval(text, 1, 8, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]int32{{20, 21, 22, 23, 24, 25, 26, 27}, {28, 29, 30, 31, 32, 33, 34, 35}, {0, 1, 2, 3, 4, 9, 10, 11}, {36, 37, 38, 39, 40, 12, 13, 14},
		{5, 6, 7, 8, 15, 16, 17, 18}, {19, 0, 0, 0, 0, 0, 0, 0}}
	for _, w := range want {
		var b Batch
		if err := e.Next(&b); err != nil || !slices.Equal(b.Inputs, w) {
			t.Fatalf("%v, %v, want %v", err, b.Inputs, w)
		}
	}
	l, err := Rule{Whole: true}.Loader(text, 1, 8, 1)
	if err != nil {
		t.Fatal(err)
	}
	if w := l.Packing().Waste(); w < 7.0/48-1e-12 || w > 7.0/48+1e-12 {
		t.Errorf("waste %v, want 7 of 48", w)
	}
}

// TestRulesOnWindows checks targets and documents of windows over the stream.
func TestRulesOnWindows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 40 {
		text := bordered(r, 40+r.IntN(900), []int{1, 3, 40, 300}[i%4], i%2 == 0)
		l, err := Rule{Closed: true}.Loader(text, 1, 13, int64(i))
		if err != nil {
			t.Fatal(err)
		}
		for e := range int64(3) {
			first, n := l.epoch.first, l.epoch.count
			var rows []Batch
			for l.Cursor().Epoch == e {
				rows = append(rows, next(t, l, 1)...)
			}
			checkRows(t, Rule{Closed: true}, text, rows, numbered(int(text.Len()))[first:first+13*n])
		}
	}
}

// TestEvaluationKeepsTheRule reads a text whole by every rule: each token that has a target has it once.
func TestEvaluationKeepsTheRule(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 40 {
		text := bordered(r, 40+r.IntN(900), []int{1, 3, 40, 300}[i%4], i%2 == 0)
		for _, rule := range rules {
			e, err := rule.Eval(text, 3, 11, 0)
			if err != nil {
				t.Fatal(err)
			}
			var have, want []int32
			for {
				var b Batch
				if err := e.Next(&b); err == io.EOF {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				for k, target := range b.Targets {
					if target >= 0 {
						have = append(have, target)
						if b.Inputs[k] != target-1 {
							t.Fatalf("%+v: %d predicts %d", rule, b.Inputs[k], target)
						}
					}
				}
			}
			for _, token := range numbered(int(text.Len())) {
				if _, predicts := place(rule, text, token); predicts {
					want = append(want, token+1)
				}
			}
			slices.Sort(have)
			if !slices.Equal(have, want) {
				t.Fatalf("%+v, separated %v: targets %v, want %v", rule, text.Separated, have, want)
			}
		}
	}
}

// TestPackingStops asks whether to stop for each group of documents, and gives up at any.
func TestPackingStops(t *testing.T) {
	text := Text{Tokens: numbered(5 * groupSize), Starts: Places{}, Separated: true}
	for i := range 5 * groupSize {
		text.Starts = append(text.Starts.(Places), int64(i))
	}
	stopped := errors.New("stopped")
	for at := 1; at <= 6; at++ {
		asked := 0
		text.Stop = func() error {
			if asked++; asked >= at {
				return stopped
			}
			return nil
		}
		if _, err := (Rule{Whole: true}).Loader(text, 2, 8, 1); errors.Is(err, stopped) != (at <= 5) {
			t.Errorf("question %d: %v", at, err)
		}
	}
}
