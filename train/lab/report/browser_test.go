package report

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// browsers are programs that can open a page without a screen.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}

// browser returns the first that is there. PRENORM_BROWSER names another.
func browser() string {
	for _, name := range append([]string{os.Getenv("PRENORM_BROWSER")}, browsers...) {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	return ""
}

// TestBrowser opens a page in a browser, which must draw every figure and table at a size that can be seen, and have nothing to complain about.
// The page itself has no scripts; the one that looks at it is put into a copy.
func TestBrowser(t *testing.T) {
	program := browser()
	if program == "" {
		t.Skipf("NOT TESTED: no browser found (%s, or PRENORM_BROWSER), so nobody has looked at the page", strings.Join(browsers, ", "))
	}
	page, err := example().HTML()
	if err != nil {
		t.Fatal(err)
	}
	const look = `<script>
window.addEventListener("error", e => document.body.dataset.errors = (document.body.dataset.errors || "") + e.message);
window.addEventListener("load", () => {
  const seen = s => [...document.querySelectorAll(s)].filter(e => e.getBoundingClientRect().width > 300 && e.getBoundingClientRect().height > 30).length;
  const inside = [...document.querySelectorAll("svg text")].filter(e => { const a = e.getBoundingClientRect(), b = e.closest("svg").getBoundingClientRect();
    return a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1; }).length;
  document.body.dataset.report = [seen("figure svg"), seen("table"), document.querySelectorAll("svg text").length - inside,
    document.documentElement.scrollWidth <= window.innerWidth, window.innerWidth < 1000 || [...document.querySelectorAll(".wide")].every(e => e.scrollWidth <= e.clientWidth)].join(" ");
});
</script></body>`
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(strings.Replace(string(page), "</body>", look, 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	for _, size := range []string{"1200,900", "600,900"} {
		args := []string{"--headless", "--disable-gpu", "--user-data-dir=" + t.TempDir(), "--window-size=" + size, "--enable-logging=stderr", "--dump-dom", (&url.URL{Scheme: "file", Path: file}).String()}
		if os.Geteuid() == 0 {
			args = append([]string{"--no-sandbox"}, args...)
		}
		c := exec.CommandContext(ctx, program, args...)
		var complaints strings.Builder
		c.Stderr = &complaints
		dom, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v", program, errors.Join(err, ctx.Err()))
		}
		// Three figures, two tables, no text outside its figure, nothing that scrolls sideways: on a wide screen not even a wide table in its frame.
		if want := `data-report="3 2 0 true true"`; !strings.Contains(string(dom), want) {
			from := max(0, strings.Index(string(dom), "data-report"))
			t.Errorf("%s pixels: the browser says %.60s, want %s", size, string(dom)[from:], want)
		}
		if strings.Contains(string(dom), "data-errors") || strings.Contains(complaints.String(), "CONSOLE") {
			t.Errorf("the browser complains: %s", complaints.String())
		}
	}
}
