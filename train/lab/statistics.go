package lab

import (
	"errors"
	"math"

	"prenorm/data/batch"
	"prenorm/train/metrics"
)

// statistics looks at the statistics of batch norms over the windows of the validation loss: the loss that they give, and how far they wobble.
func (s *session) statistics(r *CellResult) error {
	loss, means, variances, err := s.byBatch()
	if err == nil {
		r.OwnVal, r.Wobble = metrics.Float(loss), metrics.Float(wobble(means, variances, s.Train.Batch*s.Model.Context))
	}
	return err
}

// byBatch are the statistics of all batch norms, batch by batch of those windows, and the mean loss by them.
func (s *session) byBatch() (loss float64, means, variances [][]float64, err error) {
	c := s.Model
	c.Norm.Momentum = 1 // running statistics are then the last batch's
	p, err := s.probe(c)
	if err != nil {
		return 0, nil, nil, err
	}
	defer func() { err = errors.Join(err, p.Free()) }()
	reader, err := batch.Eval(s.text.Val, p.B, p.T, evalWindows)
	if err != nil {
		return 0, nil, nil, err
	}
	var b batch.Batch
	n := 0.0
	for range reader.Windows() / int64(p.B) { // whole batches
		if err := errors.Join(reader.Next(&b), p.SetBatch(b.Inputs, b.Targets)); err != nil {
			return 0, nil, nil, err
		}
		one, err := p.Run()
		if err != nil {
			return 0, nil, nil, err
		}
		mean, variance, err := p.statistics()
		if err != nil {
			return 0, nil, nil, err
		}
		means, variances = append(means, mean), append(variances, variance)
		loss, n = loss+one, n+1
	}
	return loss / n, means, variances, nil
}

// statistics are the running means and variances of all batch norms, one after the other.
func (p *Probe) statistics() (mean, variance []float64, err error) {
	for i := range p.buffers {
		x, err := p.read(p.running.View(i)) // [2, D]
		if err != nil {
			return nil, nil, err
		}
		mean, variance = append(mean, x[:len(x)/2]...), append(variance, x[len(x)/2:]...)
	}
	return mean, variance, nil
}

// wobble is how far the means of batches scatter, over what means of as many rows scatter that are drawn from one distribution, whatever that is,
// each for itself: the root over features of the mean of Var[batch's mean] / (Var[feature] / rows). It is 1 for such rows.
func wobble(means, variances [][]float64, rows int) float64 {
	batches, sum, features := float64(len(means)), 0.0, 0.0
	for j := range means[0] {
		mu, within := mean(column(means, j)), mean(column(variances, j))
		scatter := 0.0
		for _, m := range means {
			scatter += (m[j] - mu) * (m[j] - mu) / (batches - 1)
		}
		if within > 0 {
			// The variance inside batches is short of the whole by that of their means.
			sum, features = sum+scatter*float64(rows)/(within+scatter), features+1
		}
	}
	return math.Sqrt(sum / features)
}
