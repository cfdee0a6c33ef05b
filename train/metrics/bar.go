package metrics

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/schollz/progressbar/v3"
)

// style is how a bar looks on a kind of terminal.
type style struct {
	theme progressbar.Theme
	edges int  // columns of the theme's ends
	color bool // the theme has names of colours
	ansi  bool // the terminal knows escape sequences
}

// chooseStyle picks what the terminal can show: colours unless NO_COLOR is set (no-color.org), line-drawing characters where the locale
// is UTF-8, and plain ASCII without escape sequences on Windows, whose consoles need not know them.
func chooseStyle(env func(string) string) style {
	locale := env("LC_ALL")
	for _, name := range []string{"LC_CTYPE", "LANG"} {
		if locale == "" {
			locale = env(name)
		}
	}
	locale = strings.ToLower(locale)
	unicode := strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
	switch {
	case runtime.GOOS == "windows" || !unicode:
		return style{theme: progressbar.ThemeASCII, edges: 2, ansi: runtime.GOOS != "windows"}
	case env("NO_COLOR") != "":
		return style{theme: progressbar.Theme{Saucer: "█", SaucerPadding: "░"}, ansi: true}
	}
	return style{theme: progressbar.Theme{Saucer: "[cyan]━", SaucerPadding: "[dark_gray]━", BarEnd: "[reset]"}, color: true, ansi: true}
}

// bar renders one line: percentage, bar, and as many fields as the terminal is wide.
type bar struct {
	*progressbar.ProgressBar
	style style
	width func() int // columns of the terminal
}

func newBar(total int64, s style, width func() int) *bar {
	return &bar{
		style: s,
		width: width,
		ProgressBar: progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(io.Discard), // its text is taken from String and written in the background
			progressbar.OptionSetTheme(s.theme),
			progressbar.OptionEnableColorCodes(s.color),
			progressbar.OptionUseANSICodes(s.ansi),
			progressbar.OptionShowDescriptionAtLineEnd(),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetElapsedTime(false),
		),
	}
}

const (
	narrowest = 8  // columns of the bar itself
	widest    = 30 // more would draw the eye along a long way for little
)

// render returns the text that shows the bar at step, from the beginning of the line, and its columns.
func (b *bar) render(step int64, fields []string) picture {
	// "100% " before the bar, two spaces after it, one after the fields; the last column stays free, as some terminals wrap there.
	room := b.width() - len("100% ") - b.style.edges - 4
	text := fit(fields, room-narrowest)
	saucer := min(max(room-len(text), narrowest), widest)
	progressbar.OptionSetWidth(saucer)(b.ProgressBar)
	b.Describe(text)
	_ = b.Set64(step) // it reports a step beyond the total, where the bar is full all the same
	line := b.String()
	if !b.style.ansi {
		line = b.erase(0) + line
	}
	return picture{line, len("100% ") + b.style.edges + saucer + 3 + len(text)}
}

// erase returns the text that wipes a bar of so many columns. A terminal that became narrower since has broken it into several rows, of
// which the cursor stands in the last.
func (b *bar) erase(columns int) string {
	if b.style.ansi {
		if width := b.width(); columns > width {
			return fmt.Sprintf("\r\x1b[%dA\x1b[J", (columns+width-1)/width-1)
		}
		return "\r\x1b[2K"
	}
	return "\r" + strings.Repeat(" ", b.width()-1) + "\r"
}

// fit joins fields, leaving out the less important ones until they fit into the room.
func fit(fields []string, room int) string {
	for _, drop := range []string{"", "lr ", " tokens/s", "B/s", " left", " in all", " in this session", "loss "} {
		if drop != "" {
			var kept []string
			for _, f := range fields {
				if !strings.HasPrefix(f, drop) && !strings.HasSuffix(f, drop) {
					kept = append(kept, f)
				}
			}
			fields = kept
		}
		if text := strings.Join(fields, "  "); len(text) <= room {
			return text
		}
	}
	return ""
}
