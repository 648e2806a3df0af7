package tracefile

import "regexp"

// hidden stands for a secret.
const hidden = "***"

var (
	// secretName is a flag whose value is a secret; "--token=x" and "TOKEN=x" have the value in the same
	// argument, "--token x" in the next.
	secretName = regexp.MustCompile(
		`(?i)^(--?)?[\w.-]*(token|passw(or)?d|secret|credentials?|api[_-]?key)(=|$)`)
	// secretURL is the part of a URL that has a user's password, or a token as its query.
	secretURL = regexp.MustCompile(`(?i)(://[^/@\s:]*:)[^/@\s]+(@)|([?&](?:access_)?token=)[^&#\s]+`)
)

// Redact returns the arguments with *** for each secret: the value of a flag or variable whose name ends in
// token, password, passwd, secret, credential or api-key, a password in a URL and a token in its query.
func Redact(args []string) []string {
	if args == nil {
		return nil
	}
	out := make([]string, 0, len(args))
	next := false // the flag before has its value here
	for _, arg := range args {
		name := secretName.FindStringSubmatch(arg)
		switch {
		case next:
			arg, next = hidden, false
		case name == nil:
			arg = secretURL.ReplaceAllString(arg, "${1}${3}"+hidden+"${2}")
		case name[4] == "=":
			arg = name[0] + hidden
		default:
			next = name[1] != ""
		}
		out = append(out, arg)
	}
	return out
}
