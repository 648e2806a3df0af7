package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/whyslow/whyslow/internal/show/api"
	"github.com/whyslow/whyslow/internal/show/live"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// golden makes a trace of one of the hand-written runs.
func golden(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), filepath.Base(name)+".trace")
	file, err := txtar.ParseFile(filepath.Join("..", "..", "analysis", "slou", "testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range file.Files {
		if f.Name == "trace" {
			if err := twin.Parse(bytes.NewReader(f.Data), dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func serve(t testing.TB, cfg api.Config, dirs ...string) (*httptest.Server, []string) {
	t.Helper()
	cfg.Runs = live.NewSet()
	t.Cleanup(cfg.Runs.Close)
	var ids []string
	for _, dir := range dirs {
		r, err := cfg.Runs.Add(dir, live.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID())
	}
	s := httptest.NewServer(api.New(cfg).Handler())
	t.Cleanup(s.Close)
	return s, ids
}

func get(t testing.TB, url string) (int, []byte, http.Header) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body, resp.Header
}

// questions are all there are of a run, with the type of the answer in web/src/api.ts; "" where it is no
// JSON.
var questions = []struct{ path, answer string }{
	{"", "Run"},
	{"/checks", "Checks"},
	{"/report", "Report"},
	{"/reasons?from=5&to=30", "Reasons"},
	{"/reasons?lang=ru", "Reasons"},
	{"/waits?windows=3", "Waits"},
	{"/waits?factors=S,O&parts=dispatch&from=5&to=30&limit=2", "Waits"},
	{"/factors", "FactorWindows"},
	{"/factors?from=5&to=30&windows=3&lanes=0", "FactorWindows"},
	{"/tile?width=10", ""},
	{"/tile?width=10&by=factor&from=3&to=20&lanes=0-1", ""},
	{"/boxes", "Boxes"},
	{"/arrows", "Arrows"},
	{"/arrows?cf=0.1", "Arrows"},
	{"/regions?width=10", "Regions"},
	{"/path", "CriticalPath"},
	{"/cf/0.1", "CFStory"},
	{"/cf/0.1?lang=ru", "CFStory"},
	{"/df/0:1", "DFStory"},
	{"/search?q=x", "Found[]"},
	{"/search?q=", "Found[]"},
	{"/at", "At"},
	{"/at?t=20", "At"},
	{"/series?names=bytes,running&nodes=all&points=4", "SeriesAnswer"},
	{"/series?names=messages&links=all&points=4", "SeriesAnswer"},
	{"/series?names=sent_bytes,received&nodes=all&points=4", "SeriesAnswer"},
	{"/series?names=bytes&format=csv", ""},
	{"/matrix?value=messages", "Matrix"},
	{"/matrix?value=flight_ns&from=3&to=20", "Matrix"},
	{"/memory", "Memory"},
	{"/memory?t=20&points=3", "Memory"},
	{"/events", "EventPage"},
	{"/events?kinds=CFEvents&nodes=0&text=x&lang=ru&limit=3&t=4", "EventPage"},
	{"/events.csv", ""},
	{"/fragments", "FragmentRow[]"},
	{"/fragments?from=3&to=20", "FragmentRow[]"},
	{"/fragments/1", "FragmentDetail"},
	{"/fragments/1/cfs?sort=-total", "CFPage"},
	{"/userevents", "UserEventStats[]"},
	{"/userevents/curves?points=7", "UserCurves"},
	{"/shades?by=origin", "Shades"},
	{"/shades?by=late", "Shades"},
	{"/boxes?by=value.weight", "Boxes"},
	{"/tile?width=10&by=late", ""},
	{"/marks", "Mark[]"},
	{"/graph/nodes", "NodeGraph"},
	{"/graph/codes", "CodeGraph"},
	{"/graph/tasks", "TaskGraph"},
	{"/graph/tasks?open=1,2,3&from=3&to=20&limit=9", "TaskGraph"},
	{"/graph/around?cf=0.1&depth=2&t=20", "CodeGraph"},
	{"/sql?q=select+node,worker,from_ns,to_ns,factor,part,what+from+pieces", "SQLAnswer"}, // numbers of CFs vary
	{"/sql?q=select+*+from+nothing&limit=3", "SQLAnswer"},
	{"/graph/moment", "Moment"},
	{"/graph/moment?t=20&open=1,2,3,df%3Dx&limit=30&window=9", "Moment"},
	{"/whatif", "WhatIf"},
	{"/whatif?lang=ru", "WhatIf"},
	{"/whatif/estimate?nodes=2", "Prediction | null"},
	{"/whatif/predict?nodes=2&workers=3&latency=5&bandwidth=1000000", "Prediction"},
	{"/whatif/zoom?nodes=2&from=5&to=20", "Zoomed"},
	{"/whatif/factors?nodes=2", "Division"},
	{"/whatif/scaling?workers=2", "Scaling"},
	{"/whatif/scaling/estimate", "Scaling | null"},
	{"/whatif/profile", "Profile"},
	{"/whatif/try?nodes=2&strategy=recorded", "Trial"},
	{"/whatif/balance?nodes=2&strategy=cyclic", "Profile"},
	{"/export?from=5&to=20", ""},
}

// TestAnswers: every question is answered, in the shape the page expects.
func TestAnswers(t *testing.T) {
	types := readContract(t)
	for _, name := range []string{"figure1", "late_request", "killed", "stolen"} {
		t.Run(name, func(t *testing.T) {
			s, ids := serve(t, api.Config{}, golden(t, name))
			for _, q := range questions {
				if strings.HasPrefix(q.path, "/df/") && (name == "killed" || name == "stolen") {
					continue // there are no DFs
				}
				status, body, header := get(t, s.URL+"/api/runs/"+ids[0]+q.path)
				if status != http.StatusOK {
					t.Errorf("%s: %d %s", q.path, status, body)
					continue
				}
				if header.Get("Content-Security-Policy") == "" {
					t.Errorf("%s: no policy", q.path)
				}
				if q.answer != "" {
					t.Run(strings.ReplaceAll(q.path, "/", ":"), func(t *testing.T) { mustConform(t, types, q.answer, body) })
				}
			}
			_, body, _ := get(t, s.URL+"/api/runs")
			mustConform(t, types, "RunSummary[]", body)
			_, body, _ = get(t, s.URL+"/api/series")
			mustConform(t, types, "Property[]", body)
			_, body, _ = get(t, s.URL+"/api/compare?a="+ids[0]+"&b="+ids[0])
			mustConform(t, types, "Comparison", body)
			_, body, _ = get(t, s.URL+"/api/sql")
			mustConform(t, types, "SQLTables", body)
		})
	}
}

// TestSums: the factors of the page are those of the report.
func TestSums(t *testing.T) {
	s, ids := serve(t, api.Config{}, golden(t, "figure1"))
	var f struct {
		Rows []string `json:"rows"`
		Sum  []int64  `json:"sum"`
	}
	var r struct {
		Factors map[string]struct{ NS int64 } `json:"factors"`
	}
	_, body, _ := get(t, s.URL+"/api/runs/"+ids[0]+"/factors")
	if err := json.Unmarshal(body, &f); err != nil {
		t.Fatal(err)
	}
	_, body, _ = get(t, s.URL+"/api/runs/"+ids[0]+"/report")
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	for i, row := range f.Rows {
		if want, ok := r.Factors[row]; ok && want.NS != f.Sum[i] {
			t.Errorf("%s: %d, the report says %d", row, f.Sum[i], want.NS)
		}
	}
}

// TestBadQuestions: what is wrong with a question is told in one line.
func TestBadQuestions(t *testing.T) {
	s, ids := serve(t, api.Config{}, golden(t, "figure1"))
	run := "/api/runs/" + ids[0]
	for _, c := range []struct {
		path   string
		status int
		text   string
	}{
		{"/api/runs/nowhere", 404, "no such run"},
		{"/api/nothing", 404, "is not a question"},
		{run + "/factors?from=x", 400, `from="x"`},
		{run + "/factors?from=5&to=4", 400, "is after to"},
		{run + "/factors?windows=0", 400, "windows"},
		{run + "/factors?windows=99999999", 400, "windows"},
		{run + "/tile?width=0", 400, "width"},
		{run + "/tile?by=colour", 400, "use code, factor"},
		{run + "/shades?by=colour", 400, "use code, factor, origin"},
		{run + "/userevents/curves?from=5&to=5", 400, "is empty"},
		{run + "/tile?lanes=3-1", 400, "numbers as in 0-3,7"},
		{run + "/tile?lanes=77", 400, "lane"},
		{run + "/cf/7.7777", 404, ""},
		{run + "/cf/x", 400, ""},
		{run + "/df/x", 404, ""},
		{run + "/series?names=speed", 400, "speed"},
		{run + "/matrix?value=speed", 400, "speed"},
		{run + "/events?kinds=No.onSuch", 400, ""},
		{run + "/events?offset=-1", 400, "offset"},
		{run + "/events.csv?cf=x", 400, ""},
		{run + "/events.csv?df=x", 400, ""},
		{run + "/events.csv?kinds=No.onSuch", 400, ""},
		{run + "/events.csv?nodes=9", 404, ""},
		{run + "/export?from=9&to=8", 400, "is after to"},
		{run + "/fragments/77", 404, ""},
		{run + "/fragments/x", 400, ""},
		{run + "/graph/around", 400, ""},
		{run + "/graph/moment?limit=201", 400, "limit"},
		{run + "/search?q=" + strings.Repeat("x", 300), 400, "200 bytes"},
		{run + "/at?t=%zz", 400, "cannot be read"},
		{"/api/compare?a=" + ids[0], 404, "b: no such run"},
	} {
		status, body, header := get(t, s.URL+c.path)
		var answer struct {
			Error string `json:"error"`
		}
		if header.Get("Content-Disposition") != "" {
			t.Errorf("%s: the error is offered as a file", c.path)
		}
		if err := json.Unmarshal(body, &answer); err != nil || status != c.status ||
			!strings.Contains(answer.Error, c.text) || strings.Contains(answer.Error, "\n") {
			t.Errorf("%s: %d %s, want %d and %q", c.path, status, body, c.status, c.text)
		}
	}
	resp, err := http.Post(s.URL+"/api/runs", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", resp.StatusCode)
	}
}

// TestTile: the bytes of a tile.
func TestTile(t *testing.T) {
	s, ids := serve(t, api.Config{}, golden(t, "figure1"))
	_, body, _ := get(t, s.URL+"/api/runs/"+ids[0]+"/tile?width=7&by=factor")
	lanes, width := binary.LittleEndian.Uint32(body), binary.LittleEndian.Uint32(body[4:])
	if width != 7 || lanes == 0 || len(body) != int(8+lanes*width*3) {
		t.Errorf("%d lanes, %d columns, %d bytes", lanes, width, len(body))
	}
}

// TestExport: an exported interval is a trace with the events of these times, in their order among others.
func TestExport(t *testing.T) {
	dir := golden(t, "figure1")
	s, ids := serve(t, api.Config{}, dir)
	_, body, header := get(t, s.URL+"/api/runs/"+ids[0]+"/export?from=5&to=20")
	if want := `attachment; filename="figure1.5-20.trace.tar.gz"`; header.Get("Content-Disposition") != want {
		t.Errorf("%q, want %q", header.Get("Content-Disposition"), want)
	}
	want := dump(t, dir, twin.Options{In: &trace.Span{From: 5, To: 20}, NoDefs: true})
	got := dump(t, unpacked(t, body), twin.Options{NoDefs: true})
	rest := got
	for line := range strings.Lines(want) {
		_, after, ok := strings.Cut(rest, line)
		if rest = after; !ok {
			t.Errorf("%s is missing in:\n%s", line, got)
		}
	}
	if want == "" {
		t.Error("nothing to export")
	}
}

func dump(t *testing.T, dir string, opt twin.Options) string {
	t.Helper()
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var b strings.Builder
	if err := twin.Dump(&b, r, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestToken: without the token there is the page, and nothing of the runs.
func TestToken(t *testing.T) {
	s, ids := serve(t, api.Config{Token: "open sesame"}, golden(t, "figure1"))
	status, body, header := get(t, s.URL+"/api/runs/"+ids[0])
	if status != 401 || header.Get("WWW-Authenticate") != "Bearer" || strings.Contains(string(body), "figure1") {
		t.Errorf("without a token: %d %s", status, body)
	}
	if status, _, _ := get(t, s.URL+"/"); status != 200 {
		t.Errorf("the page: %d", status)
	}
	for token, want := range map[string]int{"open sesame": 200, "open": 401, "": 401} {
		req, err := http.NewRequest(http.MethodGet, s.URL+"/api/runs", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("token %q: %d, want %d", token, resp.StatusCode, want)
		}
	}
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	resp, err := stay.Get(s.URL + "/?token=" + url.QueryEscape("open sesame") + "&view=events")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	cookies := resp.Cookies()
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/?view=events" ||
		len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("%d %v", resp.StatusCode, resp.Header)
	}
	req, err := http.NewRequest(http.MethodGet, s.URL+"/api/runs", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.AddCookie(cookies[0])
	if resp, err = http.DefaultClient.Do(req); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(err, resp)
	}
	resp.Body.Close()
	if status, _, _ := get(t, s.URL+"/?token=wrong"); status != 401 {
		t.Errorf("a wrong token in the address: %d", status)
	}
}

// TestTokens: a browser has cookies of hosts, not of ports; two servers with different tokens keep theirs all
// the same. A cookie is not the token, and no other port takes it.
func TestTokens(t *testing.T) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	ask := func(address string) int {
		resp, err := browser.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	a, _ := serve(t, api.Config{Token: "a;\" \\é"})
	b, _ := serve(t, api.Config{Token: "b"})
	c, _ := serve(t, api.Config{Token: "b"})
	visits := []string{a.URL + "/?token=" + url.QueryEscape("a;\" \\é"), b.URL + "/?token=b", a.URL + "/api/runs", b.URL + "/api/runs"}
	for _, address := range visits {
		if status := ask(address); status != http.StatusOK {
			t.Errorf("%s: %d", address, status)
		}
	}
	if status := ask(c.URL + "/api/runs"); status != http.StatusUnauthorized {
		t.Errorf("a server takes another one's cookie: %d", status)
	}
	at, err := url.Parse(a.URL)
	if err != nil {
		t.Fatal(err)
	}
	cookies := jar.Cookies(at)
	if len(cookies) != 2 {
		t.Fatalf("%v", cookies)
	}
	for _, cookie := range cookies {
		if len(cookie.Value) != 64 {
			t.Errorf("cookie %s", cookie)
		}
		for _, s := range []*httptest.Server{b, c} { // the value under the name of another port
			req, err := http.NewRequest(http.MethodGet, s.URL+"/api/runs", nil)
			if err != nil {
				t.Fatal(err)
			}
			_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
			if name := "whyslow_session_" + port; name != cookie.Name {
				req.AddCookie(&http.Cookie{Name: name, Value: cookie.Value})
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusUnauthorized {
					t.Errorf("%s takes the cookie %s: %d", s.URL, cookie.Name, resp.StatusCode)
				}
			}
		}
	}
}

// TestAddresses: who may listen where, and names in requests that are not the server's own.
func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		address, token string
		insecure, ok   bool
	}{
		{"127.0.0.1:0", "", false, true}, {"localhost:1", "", false, true}, {"[::1]:1", "", false, true},
		{":7568", "", false, false}, {"0.0.0.0:1", "", false, false}, {"example.org:1", "", false, false},
		{"10.0.0.1:1", "", false, false}, {":7568", "secret", false, true}, {":7568", "", true, true},
		{"7568", "", true, false}, {"", "", false, false},
	} {
		if err := api.CheckAddress(c.address, c.token, c.insecure); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
	runs := live.NewSet()
	defer runs.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- api.New(api.Config{Runs: runs}).Serve(ctx, l) }()
	for host, want := range map[string]int{"": 200, "localhost:1": 200, "evil.example": 421} {
		req, err := http.NewRequest(http.MethodGet, "http://"+l.Addr().String()+"/api/runs", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("host %q: %d, want %d", host, resp.StatusCode, want)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestUpdates: the state of a run comes as an event, and is all there is while nothing changes.
func TestUpdates(t *testing.T) {
	types := readContract(t)
	s, ids := serve(t, api.Config{}, golden(t, "figure1"))
	streams := map[string]string{"/api/runs/" + ids[0] + "/updates": "Update", "/api/updates": "RunSummary[]"}
	for path, answer := range streams {
		ctx, cancel := context.WithCancel(context.Background())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(resp.Body).ReadString('\n')
		if err != nil || resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatal(err, resp.Header)
		}
		data, _ := strings.CutPrefix(line, "data: ")
		mustConform(t, types, answer, []byte(data))
		cancel()
		resp.Body.Close()
	}
}

// FuzzQuestions: no parameter makes the server fail or panic.
func FuzzQuestions(f *testing.F) {
	cfg := api.Config{Runs: live.NewSet()}
	f.Cleanup(cfg.Runs.Close)
	r, err := cfg.Runs.Add(golden(f, "late_request"), live.Options{})
	if err != nil {
		f.Fatal(err)
	}
	h := api.New(cfg).Handler()
	for _, q := range questions {
		f.Add(q.path)
	}
	for _, p := range []string{"/series?names=bytes&nodes=0-99999999",
		"/events?t=9223372036854775807&nodes=,,&link=0->",
		"/tile?lanes=0-1048576&width=16384", "/boxes?from=-9007199254740992&to=9007199254740992",
		"/graph/around?df=0:1&depth=4&limit=300", "/cf/0.99999999999999999999", "/search?q=x[[[1]&limit=1",
		"/memory?t=-5&points=20000", "/export?from=-1&to=-1", "/factors?from=0&to=0"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.Parse("http://localhost/api/runs/" + r.ID() + path)
		if err != nil || strings.HasSuffix(u.Path, "/updates") {
			return
		}
		req := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
		req.URL, req.Host = u, "localhost"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code >= 500 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	})
}
