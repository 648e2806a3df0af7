package cli

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"
)

// pageSite: the documents as a site: a search leads to the section that has the words, from any page, and
// nothing is asked of another server.
func pageSite(t *testing.T, p *pages) {
	dir := t.TempDir()
	if out, err := exec.Command("go", "run", "../internal/testkit/site", "..", dir).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	b := p.open(t, server.URL)
	const found = `[...document.querySelectorAll("#found a")].map(a => a.textContent)`
	b.wait(`document.activeElement === document.body && document.querySelector("#search")`)
	b.click("#search")
	b.keys("job Slurm")
	b.wait(found + `[0] === "On a cluster: A Slurm job"`)
	b.click("#found a")
	b.wait(`location.pathname === "/docs/cluster.html" && location.hash.length > 1 && scrollY > 0`)
	b.wait(`document.querySelector(location.hash).textContent.includes("Slurm")`)
	b.picture("site")
	if got := query[string](b, sticksOut); got != "" {
		t.Errorf("too wide: %s", got)
	}

	// From a page in a folder, too, and what is nowhere.
	b.click("#search")
	b.keys("asking SQL")
	b.wait(found + `.some(t => t.startsWith("Asking in SQL"))`)
	b.click("#search")
	b.keys(" xyzzy")
	b.wait(`document.querySelector("#found").textContent === "Nothing has all these words."`)
	b.quiet("the site")
}
