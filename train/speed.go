package train

import "time"

// The window of [speed]: so many updates, or fewer where they take longer than this.
const (
	speedUpdates = 50
	speedTime    = 10 * time.Second
)

// speed is the number of tokens a second over the latest updates, so that a pause, such as that of a laptop put to sleep, is soon forgotten.
type speed struct {
	laps []lap // oldest first
	sum  lap
}

// lap is one update, or several together.
type lap struct {
	tokens int64
	spent  time.Duration
}

// add counts an update.
func (s *speed) add(tokens int64, spent time.Duration) {
	s.laps = append(s.laps, lap{tokens, spent})
	s.sum.tokens += tokens
	s.sum.spent += spent
	for len(s.laps) > speedUpdates || s.sum.spent-s.laps[0].spent >= speedTime {
		s.sum.tokens -= s.laps[0].tokens
		s.sum.spent -= s.laps[0].spent
		copy(s.laps, s.laps[1:]) // keeps the memory
		s.laps = s.laps[:len(s.laps)-1]
	}
}

// tokensPerSecond is the speed over the window.
func (s *speed) tokensPerSecond() float64 {
	return float64(s.sum.tokens) / max(s.sum.spent.Seconds(), 1e-9)
}
