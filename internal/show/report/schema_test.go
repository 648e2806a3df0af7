package report

import (
	"bytes"
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// The schema is made from the types that are written, with their comments as descriptions.

// object is a schema, or a part of one.
type object = map[string]any

// schemaMaker makes schemas of types.
type schemaMaker struct {
	t      *testing.T
	defs   object
	docs   map[string]map[string]string // by package: of "Type" and "Type.Field"
	strict bool                         // objects have no members but the declared ones
}

// of gives the schema of what encoding/json writes for a type.
func (m *schemaMaker) of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[any]():
		return object{}
	case t.Kind() == reflect.Pointer:
		return orNull(m.of(t.Elem()))
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice:
		return orNull(object{"type": "array", "items": m.of(t.Elem())})
	case reflect.Map:
		return orNull(object{"type": "object", "additionalProperties": m.of(t.Elem())})
	case reflect.Struct:
		return m.reference(t)
	case reflect.Array:
		if t.Implements(reflect.TypeFor[json.Marshaler]()) {
			return m.reference(t)
		}
		return object{"type": "array", "items": m.of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer"}
	}
	m.t.Fatalf("%v cannot be written as JSON", t)
	return nil
}

// orNull is a schema whose value may be missing.
func orNull(s object) object {
	switch t := s["type"].(type) {
	case string:
		s["type"] = []any{t, "null"}
		return s
	case []any:
		return s
	}
	return object{"anyOf": []any{s, object{"type": "null"}}}
}

// reference gives a type that has a name as a reference to its definition.
func (m *schemaMaker) reference(t reflect.Type) object {
	name := filepath.Base(t.PkgPath()) + "." + t.Name()
	if _, ok := m.defs[name]; !ok {
		m.defs[name] = object{} // it may refer to itself
		def := m.definition(t)
		if doc := m.doc(t, ""); doc != "" {
			def["description"] = doc
		}
		m.defs[name] = def
	}
	return object{"$ref": "#/$defs/" + name}
}

func (m *schemaMaker) definition(t reflect.Type) object {
	properties, required := object{}, []string{}
	if t.Kind() == reflect.Struct {
		m.fields(t, properties, &required)
	}
	// What writes itself adds members to its fields; all are numbers, or null.
	if t.Implements(reflect.TypeFor[json.Marshaler]()) {
		text, err := json.Marshal(reflect.Zero(t).Interface())
		if err != nil {
			m.t.Fatal(t, err)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(text, &members); err != nil {
			m.t.Fatal(t, err)
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if properties[name] == nil {
				properties[name] = object{"type": []any{"integer", "null"}}
				required = append(required, name)
			}
		}
	}
	slices.Sort(required)
	def := object{"type": "object", "properties": properties, "required": slices.Compact(required)}
	if m.strict {
		def["additionalProperties"] = false
	}
	return def
}

func (m *schemaMaker) fields(t reflect.Type, properties object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
			continue
		case f.Anonymous && name == "":
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			m.fields(inner, properties, required)
			continue
		case !f.IsExported(), name == "" && t.Implements(reflect.TypeFor[json.Marshaler]()):
			continue
		case name == "":
			name = f.Name
		}
		if _, ok := properties[name]; ok {
			continue // a shallower field of the same name
		}
		s := m.of(f.Type)
		if doc := m.doc(t, f.Name); doc != "" {
			s["description"] = doc
		}
		properties[name] = s
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") &&
			t.Name() != "RunInfo" { // writes itself, and leaves out what is not known
			*required = append(*required, name)
		}
	}
}

const modulePath = "github.com/whyslow/whyslow/"

// doc is the comment of a type, or of one of its fields.
func (m *schemaMaker) doc(t reflect.Type, field string) string {
	pkg := t.PkgPath()
	if m.docs[pkg] == nil {
		m.docs[pkg] = readDocs(m.t, filepath.Join("../../..", strings.TrimPrefix(pkg, modulePath)))
	}
	name := t.Name()
	if field != "" {
		name += "." + field
	}
	return m.docs[pkg][name]
}

// readDocs reads the comments of the types of a package, each as one line.
func readDocs(t *testing.T, dir string) map[string]string {
	docs := map[string]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(dir, err)
	}
	line := func(groups ...*ast.CommentGroup) string {
		for _, g := range groups {
			if text := strings.Join(strings.Fields(g.Text()), " "); text != "" {
				return text
			}
		}
		return ""
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				spec, ok := s.(*ast.TypeSpec)
				if !ok {
					continue
				}
				docs[spec.Name.Name] = line(spec.Doc, g.Doc)
				if st, ok := spec.Type.(*ast.StructType); ok {
					for _, field := range st.Fields.List {
						for _, name := range field.Names {
							docs[spec.Name.Name+"."+name.Name] = line(field.Doc, field.Comment)
						}
					}
				}
			}
		}
	}
	return docs
}

// makeSchema makes the schema; a strict one allows nothing that it does not name.
func makeSchema(t *testing.T, strict bool) object {
	m := &schemaMaker{t: t, defs: object{}, docs: map[string]map[string]string{}, strict: strict}
	s := m.definition(reflect.TypeFor[document]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["$id"] = fmt.Sprintf("https://github.com/whyslow/whyslow/report-%d.json", SchemaVersion)
	s["title"] = "whyslow report"
	s["description"] = "What whyslow report --json writes. Times are integer nanoseconds, sizes bytes."
	s["properties"].(object)["schema_version"] = object{"const": SchemaVersion,
		"description": "The version of this schema."}
	s["$defs"] = m.defs
	return s
}

// TestSchemaCurrent: schema.json is what the types say.
func TestSchemaCurrent(t *testing.T) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(makeSchema(t, false)); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(b.Bytes(), Schema) {
		return
	}
	if !*update {
		t.Fatal("schema.json is not current: run go generate ./internal/show/report")
	}
	if err := os.WriteFile("schema.json", b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// compiled is a schema to hold documents against.
func compiled(t *testing.T, s any) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource("report.json", s); err != nil {
		t.Fatal(err)
	}
	out, err := c.Compile("report.json")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSchema: reports conform to the schema, and have nothing that it does not tell. What is no report does
// not conform.
func TestSchema(t *testing.T) {
	text, err := json.Marshal(makeSchema(t, true))
	if err != nil {
		t.Fatal(err)
	}
	read := func(b []byte) any {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	published, strict := compiled(t, read(Schema)), compiled(t, read(text))
	check := func(t interface{ Fatalf(string, ...any) }, trace string, all *Everything) {
		var b bytes.Buffer
		if err := JSON(&b, all, Options{}); err != nil {
			t.Fatalf("%v", err)
		}
		v := read(b.Bytes())
		if err := published.Validate(v); err != nil {
			t.Fatalf("%#v\n%s", err, trace)
		}
		if err := strict.Validate(v); err != nil {
			t.Fatalf("%#v\n%s", err, trace)
		}
	}
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		check(t, file, compute(t, string(ar.Files[0].Data), "node", "index:0"))
	}
	rapid.Check(t, func(t *rapid.T) {
		text := ""
		if rapid.IntRange(0, 3).Draw(t, "regions") == 0 {
			text = sloutest.RandomRegions(t)
		} else {
			run := sloutest.Random(t)
			run.AddWaits(t)
			text = run.Text()
		}
		all, err := Compute(context.Background(), sloutest.Build(t, text), Wanted{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		check(t, text, all)
	})
	for _, wrong := range []string{`{}`, `[]`, `{"schema_version": 2}`, `{"schema_version": 1, "wall_ns": "1"}`} {
		if published.Validate(read([]byte(wrong))) == nil {
			t.Errorf("%s conforms", wrong)
		}
	}
}
