// Package chromium starts a browser for tests and benchmarks of pages.
package chromium

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// off are features of the browser that only cost time: pages of its own, which it shows in every window, and
// processes kept ready. The first two are what chromedp turns off by itself; the flag has one value.
const off = "Translate,BlinkGenPropertyTrees,WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup," +
	"PreloadTopChromeWebUI,SpareRendererForSitePerProcess"

// shell is Chromium without windows to draw: the tests of the page take two thirds of the processor time with
// it.
const shell = "chromium-headless-shell"

var whole = []string{"chromium", "chromium-browser", "google-chrome"}

// Start starts a browser without a screen and without a GPU, and ends it with the context or the function.
// The context that it returns has a blank window. The error is exec.ErrNotFound where no browser is
// installed.
func Start(ctx context.Context) (context.Context, context.CancelFunc, error) {
	return start(ctx, append(slices.Clone(whole), shell)) // users have whole ones
}

// start starts the first of the programs that is installed.
func start(ctx context.Context, programs []string) (context.Context, context.CancelFunc, error) {
	program := ""
	for _, name := range programs {
		if p, err := exec.LookPath(name); err == nil {
			program = p
			break
		}
	}
	if program == "" {
		return nil, nil, exec.ErrNotFound
	}
	opts := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(program),
		chromedp.DisableGPU, chromedp.Flag("disable-features", off))
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	ctx, cancelAll := chromedp.NewExecAllocator(ctx, opts...)
	ctx, cancel := chromedp.NewContext(ctx)
	end := func() { cancel(); cancelAll() }
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		end()
		return nil, nil, err
	}
	return ctx, end, nil
}

// ForTest is Start for a test, at whose end the browser ends. The test is skipped where there is no browser.
func ForTest(ctx context.Context, t testing.TB) context.Context {
	t.Helper()
	browser, end, err := start(ctx, append([]string{shell}, whole...))
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("there is no chromium to look at the page with")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return browser
}
