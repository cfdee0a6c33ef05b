package survey

import (
	"cmp"
	"slices"

	"prenorm/data/baseline"
)

// whole makes of the sources, where there are several, what is told of all together.
func (s *surveyor) whole() {
	out := s.out
	if len(out.Sources) == 0 {
		return
	}
	weights := make([]float64, len(out.Sources))
	out.Text, out.TokenFiles = true, true
	var lines, perByte, own []baseline.Lines
	for i := range out.Sources {
		x := &out.Sources[i]
		weights[i] = x.Weights[0]
		out.Text, out.TokenFiles = out.Text && x.Text, out.TokenFiles && x.TokenFiles
		out.Train.join(x.Train)
		out.Val.join(x.Val)
		out.Odd.join(x.Odd)
		out.Copies.join(x.Copies)
		out.Overlap.join(x.Overlap)
		lines = append(lines, x.Lines.Lines)
		b := x.Lines.BitsPerByte
		perByte = append(perByte, baseline.Lines{Uniform: b.Uniform, Unigram: b.Unigram, Bigram: b.Bigram})
		own = append(own, baseline.Lines{Unigram: x.Lines.TrainUnigram, Bigram: x.Lines.TrainBigram})
	}
	out.Lines.Lines = baseline.Mean(lines, weights)
	b := baseline.Mean(perByte, weights)
	out.Lines.BitsPerByte.Uniform, out.Lines.BitsPerByte.Unigram, out.Lines.BitsPerByte.Bigram = b.Uniform, b.Unigram, b.Bigram
	mean := baseline.Mean(own, weights)
	out.Lines.TrainUnigram, out.Lines.TrainBigram = mean.Unigram, mean.Bigram
	for i := range out.Sources {
		x := &out.Sources[i]
		x.Share = Share{part(x.Train.Documents, out.Train.Documents), part(x.Train.Bytes, out.Train.Bytes), part(x.Train.Tokens, out.Train.Tokens)}
		out.Train.Packed.add(x.Train.Packed, weights[i])
		out.Val.Packed.add(x.Val.Packed, weights[i])
	}
}

func part[N int | int64](of, all N) float64 { return float64(of) / float64(max(all, 1)) }

// join adds what is counted of a source.
func (s *Side) join(x Side) {
	s.Documents, s.Bytes, s.Tokens = s.Documents+x.Documents, s.Bytes+x.Bytes, s.Tokens+x.Tokens
	s.Characters, s.Words = s.Characters+x.Characters, s.Words+x.Words
	s.Odd.join(x.Odd)
	for _, bin := range x.Lengths {
		i, there := slices.BinarySearchFunc(s.Lengths, bin, func(a, b Bin) int { return cmp.Compare(a.Below, b.Below) })
		if !there {
			s.Lengths = slices.Insert(s.Lengths, i, Bin{Below: bin.Below})
		}
		s.Lengths[i].Documents += bin.Documents
		s.Lengths[i].Bytes += bin.Bytes
	}
	for _, script := range x.Scripts {
		i := slices.IndexFunc(s.Scripts, func(known Script) bool { return known.Name == script.Name })
		if i < 0 {
			i, s.Scripts = len(s.Scripts), append(s.Scripts, Script{Name: script.Name})
		}
		s.Scripts[i].Characters += script.Characters
		s.Scripts[i].Documents += script.Documents
	}
	rank(s.Scripts)
}

func (c *Copies) join(x Copies) {
	c.Compared, c.Exact, c.Near, c.Bytes = c.Compared+x.Compared, c.Exact+x.Exact, c.Near+x.Near, c.Bytes+x.Bytes
	c.Full = c.Full || x.Full
	for i, n := range x.Hist {
		c.Hist[i] += n
	}
}

func (o *Overlap) join(x Overlap) {
	o.Words, o.Sampled = x.Words, x.Sampled
	o.Grams, o.Found, o.Documents = o.Grams+x.Grams, o.Found+x.Found, o.Documents+x.Documents
	o.Any, o.Half, o.All = o.Any+x.Any, o.Half+x.Half, o.All+x.All
}

// add adds a source's figures by its share of the weights.
func (p *Packed) add(x Packed, weight float64) {
	p.Bytes += x.Bytes
	p.Gzip, p.Zstd, p.ZstdGiven = p.Gzip+weight*x.Gzip, p.Zstd+weight*x.Zstd, p.ZstdGiven+weight*x.ZstdGiven
}
