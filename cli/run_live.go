package cli

import "github.com/spf13/pflag"

// pageFlags are the flags of a run that say how its page is served.
var pageFlags = []string{"listen", "no-browser", "token", "insecure", "tls-cert", "tls-key", "memory"}

func (o *liveOptions) addTo(f *pflag.FlagSet) {
	f.BoolVar(&o.on, "live", false, "show the run in the browser while it goes on, and then until Ctrl+C")
	o.page.addTo(f, "127.0.0.1:0")
	o.page.addBrowser(f)
}

// check finds what is wrong with the flags.
func (o *liveOptions) check(f *pflag.FlagSet, noTrace bool) error {
	if !o.on {
		for _, flag := range pageFlags {
			if f.Changed(flag) {
				return badCommandLine("run: --%s makes no sense without --live", flag)
			}
		}
		return nil
	}
	if noTrace {
		return badCommandLine("run: --live shows the trace while it is written: --no-trace makes no sense with it")
	}
	return o.page.check("run", f)
}
