package metrics

import (
	"fmt"
	"math"
	"time"
)

// Bytes writes a size in binary units with three significant digits: "512 B", "1.50 KiB", "412 MiB".
func Bytes(n int64) string {
	if n > -1024 && n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	return scaled(float64(n), 1024, []string{" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"})
}

// Count writes a number of things, or a rate of them, with three significant digits: "600", "21.3k", "1.24M", "3.00G".
func Count(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1000 {
		return fmt.Sprintf("%.0f", x)
	}
	return scaled(x, 1000, []string{"", "k", "M", "G", "T", "P", "E"})
}

// scaled writes x in the largest unit of which it has at least one.
func scaled(x, base float64, units []string) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Sprint(x)
	}
	unit := 0
	// Half a last digit below the base already rounds up to it.
	for unit < len(units)-1 && math.Abs(x) >= base-0.5 {
		x /= base
		unit++
	}
	digits := 0
	switch size := math.Abs(x); {
	case size < 9.995:
		digits = 2
	case size < 99.95:
		digits = 1
	}
	return fmt.Sprintf("%.*f%s", digits, x, units[unit])
}

// Duration writes a time with its two largest units: "0.3s", "45s", "1m12s", "2h05m", "3d04h".
func Duration(d time.Duration) string {
	if d < 0 {
		return "-" + Duration(-max(d, -math.MaxInt64))
	}
	if tenths := d.Round(100 * time.Millisecond); tenths < 10*time.Second {
		return fmt.Sprintf("%.1fs", tenths.Seconds())
	}
	s := int64(d.Round(time.Second).Seconds())
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	}
	return fmt.Sprintf("%dd%02dh", s/86400, s/3600%24)
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
