package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// lunaOptions are the words of LuNA's own command.
type lunaOptions struct {
	help, quiet, verbose, debug, time   bool
	plain                               bool   // configuration files beside the program are not read
	optimize                            string // -O3 or -O0
	defines                             []string
	buildDir                            string
	noCleanup, compileOnly, libraryOnly bool
	libraryFile                         string
	cppDirs, cppSources                 []string
	workers                             int
	disabled                            map[int]bool // warnings
	file                                string
	args                                []string // of the program
}

// parseLuna reads options up to the first other word: the program, whose words follow. Errors are LuNA's.
func parseLuna(words []string) (*lunaOptions, error) {
	o := &lunaOptions{optimize: "-O3", libraryFile: "libucodes.so", workers: 4, disabled: map[int]bool{}}
	if o.help = slices.Contains(words, "--help"); o.help {
		return o, nil
	}
	var sawO, sawO0, balance bool // balancing is on anyway
	switches := map[string]*bool{"-q": &o.quiet, "--quiet": &o.quiet, "--verbose": &o.verbose, "-g": &o.debug,
		"-t": &o.time, "-b": &balance, "-O": &sawO, "-O0": &sawO0, "--no-cleanup": &o.noCleanup,
		"--plain": &o.plain, "--compile-only": &o.compileOnly, "-c": &o.libraryOnly}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if on := switches[w]; on != nil {
			*on = true
			continue
		}
		switch key, value, hasValue := strings.Cut(w, "="); {
		case w == "-D":
			i++
			if i == len(words) {
				return nil, fmt.Errorf("-D needs a definition, NAME or NAME=text")
			}
			o.defines = append(o.defines, words[i])
		case key == "--output-file" && hasValue:
			if !o.libraryOnly {
				return nil, fmt.Errorf("--output-file supported only with -c before")
			}
			o.libraryFile = value
		case key == "--build-dir" && hasValue:
			o.buildDir = value
		case key == "--cpp-dir" && hasValue:
			o.cppDirs = strings.Split(value, ":")
		case key == "--cpp-source" && hasValue:
			o.cppSources = append(o.cppSources, strings.Split(value, ":")...)
		case key == "--luna-home" && hasValue: // there is no home: everything is in this program
		case key == "--worker-threads-count" && hasValue:
			n, err := parseWorkers(value)
			if err != nil {
				return nil, err
			}
			o.workers = n
		case key == "--disable-warning" && hasValue:
			n, err := strconv.Atoi(value)
			if err != nil {
				return nil, fmt.Errorf("--disable-warning needs a number, not '%s'", value)
			}
			o.disabled[n] = true
		default:
			o.file, o.args = w, words[i+1:]
			i = len(words)
		}
	}
	switch {
	case sawO && sawO0:
		return nil, fmt.Errorf("conflicting optimization options")
	case o.file == "":
		return nil, fmt.Errorf("no program specified")
	case sawO0:
		o.optimize = "-O0"
	}
	return o, nil
}

func parseWorkers(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxWorkers {
		return 0, fmt.Errorf("--worker-threads-count needs a number from 1 to %d, not '%s'", maxWorkers, value)
	}
	return n, nil
}

const lunaHelp = `NAME
    luna - compile and run a LuNA program (this one is part of whyslow)

SYNOPSIS
    luna [OPTION]... FILE [ARGUMENT]...

OPTIONS
    --help                     print this
    -q, --quiet                no progress on standard output
    --verbose                  print the commands and their output
    -g                         debug: write record files, report what hangs
    -O, -O0                    optimise C++ code (-O3, default), or not
    -t                         print the run time at the end
    -D NAME, -D NAME=text      define a macro
    --build-dir=DIR            folder of intermediate files
    --no-cleanup               keep it (so does the environment variable LUNA_NO_CLEANUP)
    --compile-only             stop before running, keep intermediate files
    -c                         stop before running, write ./libucodes.so for rts
    --output-file=FILE         another name for -c's library; after -c
    --cpp-dir=DIR[:DIR...]     take *.cpp from there and not from the program's folder
    --cpp-source=F[:F...]      further .cpp files
    --worker-threads-count=N   worker threads (4)
    --disable-warning=N        leave out warning N
    --plain                    do not profile, whatever is beside the program

PROFILING
    events_config.json and modules_settings.json beside FILE, or in a folder config
    there, are read: modules run as they say. The trace is written only if
    trace_writer_module is switched on in modules_settings.json.

Exit codes: 0 success, 1 any failure.

'whyslow run FILE' runs the same program and tells where the time goes.
`

// rtsOptions are the words of the launcher.
type rtsOptions struct {
	help, version, steal bool
	nodes, workers       int
	configDir            string // of configuration files; "": nothing is profiled
	wordsFD              int    // where modules write and warnings go; 0: standard error
	library              string
	args                 []string
}

// wordsFDFlag is how luna tells rts where to write what the user is to see of profiling: luna shows standard
// error only of programs that fail.
const wordsFDFlag = "--words-fd="

// parseRTS reads the launcher's words. Its own options are recognised anywhere, also among the program's
// arguments, as LuNA's launcher does; -n, which that one does not have, only before the library.
func parseRTS(words []string) (*rtsOptions, error) {
	o := &rtsOptions{nodes: 1, workers: 4}
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch value, isWorkers := strings.CutPrefix(w, "--worker-threads-count="); {
		case isWorkers:
			n, err := parseWorkers(value)
			if err != nil {
				return nil, err
			}
			o.workers = n
		case w == "-b":
			o.steal = true
		case w == "-u": // prints which cores were used; the report of "whyslow run" tells more
		case w == "--help":
			o.help = true
		case w == "--version":
			o.version = true
		case strings.HasPrefix(w, "--log-buffer-size="): // records are buffered as they need
		case strings.HasPrefix(w, "--config-dir=") && o.library == "":
			o.configDir = strings.TrimPrefix(w, "--config-dir=")
		case strings.HasPrefix(w, wordsFDFlag) && o.library == "":
			n, err := strconv.Atoi(strings.TrimPrefix(w, wordsFDFlag))
			if err != nil || n < 0 {
				return nil, fmt.Errorf("%s needs a file descriptor, not '%s'", wordsFDFlag, w[len(wordsFDFlag):])
			}
			o.wordsFD = n
		case w == "-n" && o.library == "":
			i++
			if i == len(words) {
				return nil, fmt.Errorf("-n needs a number of nodes")
			}
			n, err := strconv.Atoi(words[i])
			if err != nil || n < 1 || n > maxNodes {
				return nil, fmt.Errorf("-n needs a number from 1 to %d, not '%s'", maxNodes, words[i])
			}
			o.nodes = n
		case o.library == "":
			o.library = w
		default:
			o.args = append(o.args, w)
		}
	}
	if o.library == "" && !o.help && !o.version {
		return nil, fmt.Errorf("no library specified")
	}
	return o, nil
}

const rtsHelp = `rts - run a library made by "luna -c"

    rts [OPTION]... LIB.so [ARGUMENT]...

    -n N                       nodes, all in this process (1); before LIB.so. Started
                               by mpirun, each rank is a node
    --worker-threads-count=N   worker threads of each node (4)
    -b                         let idle nodes take stealable CFs
    --config-dir=DIR           profile as events_config.json and modules_settings.json
                               there say; before LIB.so
    --help, --version
`
