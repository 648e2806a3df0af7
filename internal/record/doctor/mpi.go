package doctor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/record/pgas/launch"
	"github.com/whyslow/whyslow/internal/run/crew"
	"github.com/whyslow/whyslow/internal/words"
)

// Starting processes shows best whether that works. Where mpirun refuses for a known reason, the trial goes
// on with what it asks for, and the line says what that was.

// RankFacts are what one process started by mpirun sees.
type RankFacts struct {
	Host     string `json:"host"`
	HostSize int    `json:"host_size"` // ranks on that host
	Cores    int    `json:"cores"`     // that this process may use
	Online   int    `json:"online"`    // cores of the host
	Threads  string `json:"threads"`
	// of C++, at the first rank of a host, which compiles; "": none
	Compiler string `json:"compiler,omitempty"`
}

// Ranks gives rank 0 what each rank sees, in their order, and the others nil. All ranks call it.
func Ranks(version string) (ranks []RankFacts, err error) {
	c, err := crew.Join(version)
	if err != nil {
		return nil, err
	}
	if !c.Many() {
		return nil, console.Misuse("doctor: --ranks is for what mpirun starts")
	}
	defer c.Leave(&err)
	return gatherFacts(c)
}

// gatherFacts gives rank 0 what each rank sees, in their order, and the others nil.
func gatherFacts(c *crew.Crew) ([]RankFacts, error) {
	// Large messages take a way of their own through Open MPI.
	large, err := procs.Gather(c.Group(), 0, bytes.Repeat([]byte{1}, largeMessage))
	if err != nil {
		return nil, err
	}
	for rank, b := range large {
		if bytes.Count(b, []byte{1}) != largeMessage {
			return nil, fmt.Errorf("rank %d: %d bytes were sent and others arrived", rank, largeMessage)
		}
	}
	facts := RankFacts{Host: crew.HostName(), HostSize: c.HostSize(), Cores: crew.AvailableCores(),
		Online: crew.OnlineCores(), Threads: c.Threads()}
	if c.HostRank() == 0 {
		if f := examineCompiler(context.Background()); f.OK {
			facts.Compiler = f.Value
		}
	}
	all, err := procs.AllOf(c.Group(), facts)
	if err != nil || !c.Speaks() {
		return nil, err
	}
	return all, nil
}

// examineMPI tells whether whyslow can be started by mpirun, and what it needs for that.
func examineMPI(ctx context.Context) []Finding {
	if !crew.HasMPI() {
		return []Finding{{What: "MPI", OK: true, Value: "not built in: the nodes of a run are on one computer",
			Advice: "for several computers, install libopenmpi-dev and openmpi-bin, and build whyslow with 'make" +
				" mpi' (go build -tags mpi)"}}
	}
	found := []Finding{{What: "MPI", OK: true, Value: "built in, " + crew.MPIVersion()}}
	mpirun := Finding{What: "mpirun"}
	path, err := exec.LookPath("mpirun")
	if err != nil {
		return append(found, mpirun.bad("not found", "install openmpi-bin, or load the module of your cluster"+
			" that has mpirun; or start whyslow by srun --mpi=pmix"))
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return append(found, mpirun.bad(path+": "+err.Error(), "use the mpirun of the Open MPI that whyslow"+
			" was built with"))
	}
	first, _, _ := strings.Cut(string(out), "\n")
	mpirun.OK, mpirun.Value = true, fmt.Sprintf("%s, %s", first, path)
	if version := lastWord(crew.MPIVersion()); version != lastWord(first) {
		mpirun.Advice = fmt.Sprintf("whyslow was started with the library of %s: mpirun should be of the"+
			" same version", crew.MPIVersion())
	}
	return append(append(found, mpirun), tryRanks(ctx, path)...)
}

func lastWord(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexAny(text, " \t")+1:]
}

// A remedy is what mpirun asks for in words, and what gives it.
type remedy struct {
	complaint *regexp.Regexp
	env       []string
	advice    string
}

var remedies = []remedy{
	{
		regexp.MustCompile(`run as root`), []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"},
		"as root, use mpirun --allow-run-as-root, or set OMPI_ALLOW_RUN_AS_ROOT=1 and" +
			" OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
	},
	{
		regexp.MustCompile(`not enough slots`), []string{"OMPI_MCA_rmaps_base_oversubscribe=1"},
		"say mpirun --oversubscribe for more ranks than slots, or set OMPI_MCA_rmaps_base_oversubscribe=1",
	},
	{
		// In containers without the right to trace processes.
		regexp.MustCompile(`Read -1, expected`), []string{"OMPI_MCA_btl_vader_single_copy_mechanism=none"},
		"processes here may not read each other's memory: use mpirun --mca btl_vader_single_copy_mechanism" +
			" none, or set OMPI_MCA_btl_vader_single_copy_mechanism=none",
	},
}

const (
	tryTimeout   = 20 * time.Second
	triedRanks   = 2
	largeMessage = 1 << 20 // bytes
)

var slotCount = regexp.MustCompile(`\bslots=(\d+)`)

// try runs an Open MPI command. While it fails for a known reason, try gives it what it asks for; see advice.
func try(ctx context.Context, env []string, name string, args ...string) (
	stdout, stderr string, took time.Duration, advice []string, err error,
) {
	for tried := 0; ; tried++ {
		start := time.Now()
		stdout, stderr, err = launch.Briefly(ctx, tryTimeout, env, name, args...)
		if err == nil {
			return stdout, stderr, time.Since(start), advice, nil
		}
		known := false
		for _, r := range remedies {
			if tried < len(remedies) && r.complaint.MatchString(stderr) {
				known, env, advice = true, append(env, r.env...), append(advice, r.advice)
			}
		}
		if !known {
			return stdout, stderr, 0, advice, err
		}
	}
}

// tryRanks starts a job and tells how that went.
func tryRanks(ctx context.Context, mpirun string) []Finding {
	f := Finding{What: "MPI ranks"}
	self, err := exec.LookPath(os.Args[0]) // by the name it was called: another may make it another program
	if err == nil {
		self, err = filepath.Abs(self)
	}
	if err != nil {
		return []Finding{f.bad(err.Error(), "")}
	}
	stdout, stderr, took, advice, err := try(ctx, nil, mpirun, "--display-allocation", "-n",
		strconv.Itoa(triedRanks), self, "doctor", "--ranks")
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return []Finding{f.bad(fmt.Sprintf("%d ranks did not find each other within %v", triedRanks, tryTimeout),
				"the usual reason is a configured network that does not work: mpirun --mca btl self,vader"+
					" needs none on this computer")}
		}
		return []Finding{f.bad(fmt.Sprintf("cannot be started: %v", cmp.Or(complaint(stderr), err.Error())),
			fmt.Sprintf("to see all of it: mpirun -n %d %s doctor --ranks", triedRanks, self))}
	}
	for _, r := range remedies {
		if r.complaint.MatchString(stderr) { // it works all the same
			advice = append(advice, r.advice)
		}
	}
	// What --display-allocation prints comes before what the ranks print.
	_, text, _ := strings.Cut(stdout, "\n[")
	var ranks []RankFacts
	if err := json.Unmarshal([]byte("["+text), &ranks); err != nil || len(ranks) != triedRanks {
		return []Finding{f.bad(fmt.Sprintf(
			"%d ranks were asked for and did not find each other: each believes to be alone", triedRanks),
			"this mpirun is not from the Open MPI that whyslow was built with: use that one")}
	}
	f.OK, f.Value = true, fmt.Sprintf("%d started in %v, threads: %s", triedRanks,
		took.Round(10*time.Millisecond), ranks[0].Threads)
	f.Advice = strings.Join(advice, "; ")

	found := []Finding{f}
	slots := 0
	for _, m := range slotCount.FindAllStringSubmatch(stdout, -1) {
		n, _ := strconv.Atoi(m[1]) // digits; a number too large is none
		slots += n
	}
	if slots > 0 {
		found = append(found, Finding{
			What: "MPI slots", OK: true, Value: fmt.Sprintf("%d, with %d cores available here", slots,
				crew.AvailableCores()),
			Advice: "for more ranks use mpirun --oversubscribe; they take turns, so this is for testing only",
		})
	}
	return append(found, binding(ranks, crew.AvailableCores()))
}

// binding tells how many cores each rank may use, of those there are without mpirun.
func binding(ranks []RankFacts, whole int) Finding {
	least := ranks[0].Cores
	for _, r := range ranks {
		least = min(least, r.Cores)
	}
	f := Finding{What: "MPI binding", OK: true, Value: fmt.Sprintf("each rank may use %d of %d cores", least,
		whole)}
	if least < whole {
		f.Advice = "mpirun --bind-to none, or --map-by slot:PE=CORES, where a rank has several workers"
	}
	return f
}

// examineRanks tells where the ranks of this doctor run. All call it; rank 0 gets the answer.
func examineRanks(version string) (found []Finding, err error) {
	ranks, err := Ranks(version)
	if err != nil || ranks == nil {
		return nil, err
	}
	found = []Finding{
		{What: "MPI", OK: true, Value: "built in, " + crew.MPIVersion()},
		{What: "MPI ranks", OK: true, Value: fmt.Sprintf("%d started, threads: %s", len(ranks), ranks[0].Threads)},
	}
	seen := map[string]bool{}
	for i, r := range ranks {
		if seen[r.Host] {
			continue
		}
		seen[r.Host] = true
		var here []RankFacts
		for _, other := range ranks[i:] {
			if other.Host == r.Host {
				here = append(here, other)
			}
		}
		f := binding(here, r.Online)
		f.What, f.Value = "host "+r.Host, fmt.Sprintf("%s, %s", words.Count(len(here), "rank"), f.Value)
		switch compiler := slices.MaxFunc(here,
			func(a, b RankFacts) int { return len(a.Compiler) - len(b.Compiler) }).Compiler; compiler {
		case ranks[0].Compiler:
		case "":
			f.OK, f.Advice = false, "no C++ compiler there: install g++, or name one in CXX; or compile"+
				" elsewhere: luna -c, then mpirun rts"
		default:
			f.Value += ", C++ compiler " + compiler
		}
		found = append(found, f)
	}
	return found, nil
}

// complaint is mpirun's message in one line: its first sentence, and the lines that name something.
func complaint(stderr string) string {
	var words []string
	first := true // sentence
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "["), line == "":
		case strings.Trim(line, "-") == "":
			if len(words) > 0 {
				return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
			}
		case first:
			if i := strings.Index(line+" ", ". "); i >= 0 {
				line, first = line[:i+1], false
			}
			words = append(words, line)
		case naming.MatchString(line):
			words = append(words, line)
		}
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

var naming = regexp.MustCompile(`^[A-Z]\w*: |failed$|^--> `)
