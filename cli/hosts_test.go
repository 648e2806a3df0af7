//go:build mpi && linux

package cli

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/consistency"
	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/trace"
)

// Several hosts on one: each has a name, network, disk and clock of its own, by Linux's namespaces.

// hostsAhead is how far the clock of each host is ahead of the first one's.
var hostsAhead = []time.Duration{0, 5000 * time.Second}

// lab is hosts that reach each other.
type lab struct {
	dir   string   // seen by all
	local string   // a folder of each host's own
	names []string // of the hosts
	pids  []string // a process of each
}

// newLab makes hosts, or skips the test where that may not be done.
func newLab(t *testing.T) *lab {
	t.Helper()
	for _, tool := range []string{"ip", "unshare", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no hosts can be made here: %v", err)
		}
	}
	l := &lab{dir: t.TempDir()}
	l.local = filepath.Join(l.dir, "local")
	if err := os.Mkdir(l.local, 0o777); err != nil {
		t.Fatal(err)
	}
	for i, ahead := range hostsAhead {
		name, seconds := fmt.Sprintf("node-%c", 'a'+i), fmt.Sprint(int(ahead.Seconds()))
		ready := filepath.Join(l.dir, name+".ready")
		// The shell that waits is the host: with its end the network is gone, too.
		host := exec.Command("unshare", "--net", "--uts", "--ipc", "--mount", "--time", "--monotonic="+seconds, "--boottime="+seconds, "--fork", "--kill-child", "sh", "-c", `
			set -e
			mount --make-rprivate /
			mount -t tmpfs none "$2"
			mount -t tmpfs none /dev/shm
			mount --bind "$3" /etc/hosts
			hostname "$1"
			ip link set lo up
			touch "$4"
			cat >/dev/null`, "sh", name, l.local, filepath.Join(l.dir, "hosts"), ready)
		names := "127.0.0.1 localhost\n10.213.77.1 node-a\n10.213.77.2 node-b\n"
		if err := os.WriteFile(filepath.Join(l.dir, "hosts"), []byte(names), 0o666); err != nil {
			t.Fatal(err)
		}
		stdin, err := host.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		host.Stderr = &said
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- host.Wait() }()
		t.Cleanup(func() {
			stdin.Close()
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				_ = host.Process.Kill()
			}
		})
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(ready); err == nil {
				break
			}
			select {
			case err := <-ended:
				ended <- err
				t.Skipf("no hosts can be made here: %v: %s", err, &said)
			default:
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s does not come up: %s", name, &said)
			}
		}
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", host.Process.Pid))
		if err != nil || len(strings.Fields(string(children))) != 1 {
			t.Skipf("no hosts can be made here: %v %q", err, children)
		}
		l.names, l.pids = append(l.names, name), append(l.pids, strings.Fields(string(children))[0])
	}
	for _, command := range []string{
		"nsenter -t A -n ip link add eth0 type veth peer name eth0 netns B",
		"nsenter -t A -n ip addr add 10.213.77.1/24 dev eth0", "nsenter -t A -n ip link set eth0 up",
		"nsenter -t B -n ip addr add 10.213.77.2/24 dev eth0", "nsenter -t B -n ip link set eth0 up",
	} {
		words := strings.Fields(strings.NewReplacer(" A ", " "+l.pids[0]+" ", " B", " "+l.pids[1]).Replace(command))
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Skipf("hosts cannot be connected here: %s: %v: %s", command, err, out)
		}
	}
	// How mpirun reaches a host: agent HOST COMMAND, in the place of ssh.
	agent := "#!/bin/sh\nhost=$1; shift\ncase $host in\n"
	for i, name := range l.names {
		agent += fmt.Sprintf("%s) pid=%s ;;\n", name, l.pids[i])
	}
	agent += "esac\nexec nsenter -t $pid -n -u -i -m -T sh -c \"$*\"\n"
	if err := os.WriteFile(filepath.Join(l.dir, "agent"), []byte(agent), 0o777); err != nil {
		t.Fatal(err)
	}
	return l
}

// mpirun is what begins a command on both hosts, in the folder that both see. mpirun itself runs on the first
// one.
func (l *lab) mpirun() string {
	return fmt.Sprintf("nsenter -t %s -n -u -i -m -T sh -c 'cd %s && exec \"$@\"' sh mpirun -q --mca "+
		"plm_rsh_agent %s/agent --host node-a:1,node-b:1 ",
		l.pids[0], l.dir, l.dir)
}

// on is what begins a command on one host.
func (l *lab) on(host int) string {
	return fmt.Sprintf("nsenter -t %s -n -u -i -m -T ", l.pids[host])
}

func (l *lab) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

const spread = `C++ sub make(int i, name x) ${{ x = i * i; $}}
C++ sub add(int a, int b, name sum) ${{ sum = a + b; $}}
C++ sub show(int sum) ${{ printf("%d\n", sum); $}}
sub main() {
    df x, sum;
    for i = 0 .. 50 make(i, x[i]) @ { locator_cyclic: i; };
    make(0, sum[0]);
    for i = 0 .. 50 add(sum[i], x[i], sum[i + 1]) @ { locator_cyclic: i + 1; };
    show(sum[51]);
}
`

// TestMPIHosts runs a program on two hosts: its result, where its nodes were, their clocks, parts on disks
// that are not shared, and what is said where the hosts have not the same files.
func TestMPIHosts(t *testing.T) {
	needMPI(t)
	t.Parallel()
	l, home := newLab(t), lunaHome(t)
	l.write(t, "spread.fa", spread)
	whyslow := filepath.Join(home, "bin", "whyslow")
	_, stderr, code, err := shell(l.dir, home, l.mpirun()+"hostname")
	if err != nil || code != 0 {
		t.Skipf("mpirun does not reach hosts that are namespaces: exit code %d, %v\n%s", code, err, stderr)
	}
	run := l.mpirun() + whyslow + " run -q -w 1 "

	t.Run("result", func(t *testing.T) {
		want, _ := must(t, l.dir, home, 0, "whyslow run -q --no-trace spread.fa")
		if stdout, _ := must(t, l.dir, home, 0, run+"-o one.trace spread.fa"); stdout != want || want == "" {
			t.Errorf("%q, in one process %q", stdout, want)
		}
		if out, _ := must(t, l.dir, home, 0, "whyslow report --by node one.trace"); !strings.Contains(out,
			"\n0 (node-a) ") || !strings.Contains(out, "\n1 (node-b) ") {
			t.Errorf("%s", out)
		}
		checkHosts(t, filepath.Join(l.dir, "one.trace"))
	})
	t.Run("parts", func(t *testing.T) {
		must(t, l.dir, home, 0, run+"--local-dir "+l.local+" -o "+l.local+"/two.trace spread.fa")
		if out, _ := must(t, l.dir, home, 0, l.on(0)+whyslow+" doctor "+l.local+"/two.trace"); !strings.Contains(
			out, "whole: nothing is damaged or missing") {
			t.Errorf("%s", out)
		}
		for host, want := range []string{"two.trace\n", ""} {
			if out, _ := must(t, l.dir, home, 0, l.on(host)+"ls "+l.local); out != want {
				t.Errorf("left on %s: %q", l.names[host], out)
			}
		}
	})
	says := func(t *testing.T, args, want string) {
		t.Helper()
		if _, stderr := must(t, l.dir, home, console.BadUsage, noGrace+run+args); !strings.Contains(stderr,
			"whyslow: "+want+"\n") {
			t.Errorf("%s, and not %s", stderr, want)
		}
	}
	t.Run("not shared", func(t *testing.T) {
		says(t, "-o "+l.local+"/three.trace spread.fa",
			"rank 1 (node-b): does not see "+l.local+"/three.trace: all hosts must see the folder of the trace, or "+
				"use --local-dir DIR")
	})
	t.Run("not there", func(t *testing.T) {
		must(t, l.dir, home, 0, l.on(0)+"cp "+l.dir+"/spread.fa "+l.local)
		says(t, "--no-trace "+l.local+"/spread.fa",
			"rank 1 (node-b): "+l.local+"/spread.fa: no such file or directory")
	})
	t.Run("another program", func(t *testing.T) {
		must(t, l.dir, home, 0,
			l.on(1)+"sh -c \"sed 's/i . i/i + i/' "+l.dir+"/spread.fa > "+l.local+"/spread.fa\"")
		says(t, "--no-trace "+l.local+"/spread.fa",
			"the program of rank 1 (node-b) is not that of rank 0 (node-a): all hosts need the same files")
	})
}

// checkHosts compares the offsets in a trace of a run on a lab with those that its clocks have.
func checkHosts(t *testing.T, path string) {
	t.Helper()
	r, err := trace.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	info := r.Run()
	for i, p := range info.Processes {
		if want := fmt.Sprintf("node-%c", 'a'+i); p.Host != want || info.Nodes[i].Host != want ||
			len(info.Processes) != len(hostsAhead) {
			t.Errorf("%+v %+v", p, info.Nodes[i])
		}
	}
	found, err := consistency.Check(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	if !found.Whole || !found.Consistent || found.Order == nil || found.Order.Messages == 0 ||
		found.Order.Repaired.Count > 0 {
		t.Errorf("%v %+v %+v", found.Problems, found.Findings, found.Order)
	}
	zero, one, clock := truthOf(t, info, 0), truthOf(t, info, 1), found.Clocks[1]
	ahead := int64(hostsAhead[1])
	for _, c := range []struct {
		when     string
		pair     trace.ClockPair
		measured int64
	}{{"at first", one.first, clock.OffsetNS}, {"at last", one.last, clock.LastNS}} {
		offset := zero.own(c.pair.Monotonic-ahead) - c.pair.Own
		// The pairs are not taken when the clocks are compared: meanwhile they drift apart a little.
		limit := float64(clock.ErrorNS+one.uncertain+zero.uncertain) + 200_000
		t.Logf("%s: offset %d ns, measured %d ns, error at most %d ns", c.when, offset, c.measured, clock.ErrorNS)
		if clock.Compared < 2 || math.Abs(float64(c.measured-offset)) > limit {
			t.Errorf("%s: offset %d ns, measured %d ns in %d comparisons, which must be right to %.0f ns", c.when,
				offset, c.measured, clock.Compared, limit)
		}
	}
}
