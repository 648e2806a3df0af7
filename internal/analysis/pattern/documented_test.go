package pattern

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestDocumented: the documents explain every member of the result in JSON.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/pgas-report.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text2, found := strings.Cut(string(text), "## JSON and CSV")
	if !found {
		t.Fatal("no section on JSON")
	}
	members := 0
	var look func(of reflect.Type, within string)
	look = func(of reflect.Type, within string) {
		for of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct {
			return
		}
		for i := range of.NumField() {
			f := of.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() || name == "-" {
				continue
			}
			members++
			if !strings.Contains(text2, "`"+name+"`") {
				t.Errorf("%s%s is not explained", within, name)
			}
			look(f.Type, within+name+".")
		}
	}
	look(reflect.TypeFor[Result](), "pgas.")
	if members < 60 {
		t.Errorf("only %d members were looked at", members)
	}
}
