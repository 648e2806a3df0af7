package native

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/sdk"
	"github.com/whyslow/whyslow/trace"
)

// The numbers in the header are those of package trace and of this one.
func TestHeader(t *testing.T) {
	list := func(first string) []string {
		text := sdk.ModuleHeader[strings.Index(sdk.ModuleHeader, "    "+first):]
		text = regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(text[:strings.Index(text, "}")], "")
		return regexp.MustCompile(`WSM_\w+`).FindAllString(text, -1)
	}
	types := list("WSM_INT = 1")
	for ft := trace.FieldInt; ft.Valid(); ft++ {
		if i := int(ft) - 1; i >= len(types) || types[i] != "WSM_"+strings.ToUpper(ft.String()) {
			t.Errorf("type %d: %s", ft, types)
		}
	}
	if want := []string{"WSM_PARAM_STRING", "WSM_PARAM_INT", "WSM_PARAM_FLOAT", "WSM_PARAM_BOOL",
		"WSM_PARAM_STRINGS"}; !slices.Equal(list("WSM_PARAM_STRING = 1"), want) {
		t.Error(list("WSM_PARAM_STRING = 1"))
	}
	if !strings.Contains(sdk.ModuleHeader, "enum { WSM_EXPIRED, WSM_DELETED, WSM_END };") ||
		trace.Expired != 0 || trace.Deleted != 1 || trace.End != 2 {
		t.Error("reasons differ")
	}
	if !strings.Contains(sdk.ModuleHeader, "#define WSM_MAX_FIELDS 16\n") || trace.MaxFields != 16 {
		t.Error("numbers of fields differ")
	}
}

// A signature made of fields reads back as those.
func TestSignature(t *testing.T) {
	name := rapid.StringMatching(`[a-z][A-Za-z0-9_]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		spec := trace.KindSpec{Namespace: "My" + name.Draw(t, "ns"), Name: name.Draw(t, "name")}
		for _, n := range rapid.SliceOfNDistinct(name, 0, trace.MaxFields, rapid.ID).Draw(t, "fields") {
			spec.Fields = append(spec.Fields,
				trace.Field{Name: n, Type: trace.FieldType(rapid.IntRange(1, int(trace.FieldReason)).Draw(t, "type"))})
		}
		text := spec.Namespace + rapid.SampledFrom([]string{".", "::"}).Draw(t, "dot") + spec.Name + "("
		for i, f := range spec.Fields {
			if i > 0 {
				text += rapid.SampledFrom([]string{" ", ", ", ","}).Draw(t, "space")
			}
			text += f.Name + ":" + f.Type.String()
		}
		got, err := parseSignature(text + ")")
		if err != nil || got.String() != spec.String() || got.Signature() != spec.Signature() {
			t.Fatal(text, got, err)
		}
	})
}

func TestSignatureErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "there is no (",
		"My.onX":                       "there is no (",
		"My(a:Int)":                    "events are named Namespace.onName",
		"My.onX(a:Int":                 "it does not end with )",
		"My.onX(a:Int) b":              "it does not end with )",
		"My.onX(a:int)":                `there is no type "int"`,
		"My.onX(a)":                    `"a" has no type`,
		"My.onX(a:Int a:Int)":          "two fields are called a",
		"My.onX(a:Ints b:Int)":         "list",
		"My.on-x(a:Int)":               "names are letters",
		"CFEvents.onStarted(cf:CF)":    "is a standard one",
		"DFEvents.onCreateSize(df:DF)": "is a standard one",
	} {
		if _, err := parseSignature(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzSignature(f *testing.F) {
	f.Add("LoadEvents.onLoad(node:Node load:Float who:Name)")
	f.Add("My::onX(a:Ints)")
	f.Add("My.onX(a:b:c,,)")
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := parseSignature(text)
		if err == nil && (spec.Check() != nil || len(spec.Fields) > trace.MaxFields) {
			t.Errorf("%q: %v", text, spec)
		}
	})
}

func FuzzParam(f *testing.F) {
	for typ, text := range []string{"", "x", "-3", "2.5", "true", "a,b"} {
		f.Add("name", typ, text)
	}
	f.Fuzz(func(t *testing.T, name string, typ int, text string) {
		p, err := newParam(name, typ, text, "")
		if err == nil && (p.Default == nil || p.Name == "") {
			t.Errorf("%q %d %q: %v", name, typ, text, p)
		}
	})
}
