// Package units writes times and sizes for people.
package units

import "fmt"

// Duration writes a time in nanoseconds with three or four digits and a unit that fits: "1.50 ms".
func Duration(ns int64) string {
	if ns < 0 {
		return "-" + Duration(-ns)
	}
	for _, u := range []struct {
		ns   float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}} {
		if v := float64(ns) / u.ns; v >= 0.9995 {
			switch {
			case v >= 100:
				return fmt.Sprintf("%.0f %s", v, u.name)
			case v >= 10:
				return fmt.Sprintf("%.1f %s", v, u.name)
			}
			return fmt.Sprintf("%.2f %s", v, u.name)
		}
	}
	return fmt.Sprintf("%d ns", ns)
}

// Bytes writes a size with a unit of powers of 1000: "1.5 KB".
func Bytes(n int64) string {
	if n < 0 {
		return "-" + Bytes(-n)
	}
	v := float64(n)
	for _, u := range []string{"bytes", "KB", "MB", "GB"} {
		if v < 1000 {
			if u == "bytes" {
				return Count(n, "byte")
			}
			return fmt.Sprintf("%.1f %s", v, u)
		}
		v /= 1000
	}
	return fmt.Sprintf("%.1f TB", v)
}

// Count writes "1 CF", "3 CFs".
func Count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Percent writes which part of a time another one is: "12.3 %".
func Percent(ns, of int64) string {
	if of <= 0 {
		return "0.0 %"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(ns)/float64(of))
}
