package config_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tailscale/hujson"

	_ "github.com/whyslow/whyslow/internal/record/modules" // registers the modules that the schema lists
	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// The schemas tell editors what the configuration files may hold. They are made from the same tables as
// everything else: kinds of events and registered modules.
const (
	eventsSchema  = "../../../docs/events_config.schema.json"
	modulesSchema = "../../../docs/modules_settings.schema.json"

	identifier = "[A-Za-z_][A-Za-z0-9_]*"
)

// object is a JSON object; its keys are written in alphabetical order.
type object map[string]any

func ref(name string) object { return object{"$ref": "#/$defs/" + name} }

func described(doc string, o object) object {
	o["description"] = doc
	return o
}

func eventsSchemaText(t *testing.T) []byte {
	spaces := object{}
	names := []string{}
	var of []string
	for _, k := range trace.Kinds() {
		ns, ok := spaces[k.Namespace].(object)
		if !ok {
			ns = object{"type": "object", "properties": object{}, "propertyNames": ref("name"),
				"additionalProperties": ref("own")}
			spaces[k.Namespace], of = ns, append(of, k.Namespace)
		}
		for i, n := range append([]string{k.Name}, k.Alias...) {
			doc := k.Doc
			if i > 0 {
				doc += " The same as " + k.Name + "."
			}
			ns["properties"].(object)[n] = described(doc, ref("setting"))
			names = append(names, k.Namespace+"::"+n)
		}
	}
	return marshal(t, object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": config.EventsFile + " of whyslow",
		"type":                 "object",
		"additionalProperties": false,
		"properties": object{
			"$schema": object{"type": "string"},
			"eventsSettings": described("Which events are on. What is not listed is off.", object{
				"type": "object", "properties": spaces, "propertyNames": ref("name"),
				"additionalProperties": described("A namespace of your own.",
					object{"type": "object", "propertyNames": ref("name"), "additionalProperties": ref("setting")}),
			}),
			"groups": described("Groups of events that are switched together. An event in groups is on if it is "+
				"enabled itself and at least one of them is.", object{
				"type": "object", "additionalProperties": object{"type": "object", "additionalProperties": false,
					"properties": object{
						"enabled": object{"type": "boolean", "default": true},
						"modules": described("Modules that run if the group is on.",
							object{"type": "array", "items": object{"type": "string"}}),
						"events": object{"type": "array", "items": object{"anyOf": []object{
							{"enum": names},
							{"type": "string", "pattern": "^" + identifier + `(::|\.)` + identifier + "$"}}}},
					}},
			}),
		},
		"$defs": object{
			"name":    object{"pattern": "^" + identifier + "$"},
			"setting": object{"anyOf": []object{{"type": "boolean"}, ref("extended")}},
			"own": described("An event of your own among those of "+strings.Join(of, ", ")+" needs a rule.",
				object{"allOf": []object{ref("extended"), {"required": []string{"rule"}}}}),
			"extended": object{"type": "object", "additionalProperties": false,
				"properties": object{
					"enabled": object{"type": "boolean", "default": true},
					"rule":    ref("rule"),
					"args": described("C++ expressions that are passed with the event.",
						object{"type": "array", "items": object{"type": "string"}}),
					"functions": described("Patterns of the functions in which the rule holds, with * and ?; all if not "+
						"given.", object{"anyOf": []object{{"type": "string"},
						{"type": "array", "items": object{"type": "string"}}}}),
				},
				"dependentRequired": object{"args": []string{"rule"}, "functions": []string{"rule"}}},
			"rule": described("Where the event is inserted.", object{"type": "string",
				"pattern": `^\s*(before|after)\s+(return\s+\S(.*[^\s;])?|` + config.PointBlock + "|" +
					strings.ReplaceAll(config.PointForeign, " ", `\s+`) + "|" + config.PointEntry + `)\s*$`,
				"examples": ruleExamples()}),
		},
	})
}

func ruleExamples() (list []string) {
	for _, s := range config.Statuses {
		list = append(list, "before return "+s)
	}
	for _, p := range []string{config.PointBlock, config.PointForeign, config.PointEntry} {
		list = append(list, "before "+p, "after "+p)
	}
	return list
}

func modulesSchemaText(t *testing.T) []byte {
	properties := object{
		"$schema": object{"type": "string"},
		"globalSettings": object{"type": "object", "additionalProperties": false,
			"properties": object{"enabled": described("Whether modules are on that have no overrideEnabled.",
				object{"type": "boolean", "default": true})}},
	}
	patterns := object{}
	for _, m := range prof.Modules() {
		params := object{}
		for i := range m.Params {
			params[m.Params[i].Name] = paramSchema(t, &m.Params[i])
		}
		properties[m.Name] = described(m.Doc,
			moduleSchema(object{"type": "object", "additionalProperties": false, "properties": params}, false))
		names := slices.Concat([]string{"lib" + m.Name}, m.Aliases)
		for _, a := range m.Aliases {
			names = append(names, "lib"+a)
		}
		patterns["^("+strings.Join(names, "|")+")$"] = object{"$ref": "#/properties/" + m.Name}
	}
	value := object{"anyOf": []object{{"type": []string{"string", "number", "boolean"}},
		{"type": "array", "items": object{"type": "string"}}}}
	return marshal(t, object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": config.ModulesFile + " of whyslow",
		"type":       "object",
		"properties": properties, "patternProperties": patterns,
		"propertyNames": object{"pattern": `^(\$schema|[A-Za-z_][A-Za-z0-9_-]*)$`},
		"additionalProperties": described("A module of your own, in a shared library.",
			moduleSchema(object{"type": "object", "propertyNames": object{"pattern": "^[A-Za-z_][A-Za-z0-9_-]*$"},
				"additionalProperties": value}, true)),
	})
}

// moduleSchema is what the settings of a module may hold, with its parameters.
func moduleSchema(params object, library bool) object {
	p := object{
		"enabled": described("Switches the module, together with globalSettings.",
			object{"type": "boolean", "default": true}),
		"overrideEnabled": described("Counts instead of globalSettings.", object{"type": "boolean"}),
		"priority": described("Lower handles events first.",
			object{"type": "integer", "default": prof.DefaultPriority}),
		"params": params,
	}
	if library {
		p["library"] = described("Path of the library, from the folder of this file. Without it libNAME.so is "+
			"looked for.", object{"type": "string"})
	}
	return object{"type": "object", "additionalProperties": false, "properties": p}
}

func paramSchema(t *testing.T, p *prof.Param) object {
	s := described(p.Doc, object{})
	switch d := p.Default.(type) {
	case string:
		s["type"], s["default"] = "string", d
		if p.Choices != nil {
			s["enum"] = p.Choices
		}
	case int:
		s["type"], s["default"] = "integer", d
	case float64:
		s["type"], s["default"] = "number", d
	case bool:
		s["type"], s["default"] = "boolean", d
	case []string:
		s["type"], s["items"], s["default"] = "array", object{"type": "string"}, append([]string{}, d...)
	default:
		t.Fatalf("parameter %s has a default of type %T", p.Name, d)
	}
	return s
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSchemasAreCurrent(t *testing.T) {
	for file, text := range map[string][]byte{eventsSchema: eventsSchemaText(t),
		modulesSchema: modulesSchemaText(t)} {
		if *config.Update {
			if err := os.WriteFile(file, text, 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if old, err := os.ReadFile(file); err != nil {
			t.Error(err)
		} else if !bytes.Equal(old, text) {
			t.Errorf("%s is not what the tables of events and modules give;"+
				" run: go generate ./internal/run/config", file)
		}
	}
}

func schema(t *testing.T, name string, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// valid checks a text, as a human writes it, against a schema.
func valid(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	std, err := hujson.Standardize([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(std))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

// Schema and reader agree: what one warns of the other refuses.
func TestSchemas(t *testing.T) {
	events, modules := schema(t, "events", eventsSchemaText(t)), schema(t, "modules", modulesSchemaText(t))
	defaultEvents, defaultModules := config.Defaults()
	for _, text := range []string{
		string(defaultEvents), config.Listing1, config.Listing4, "{" + config.Listing6 + ` , "eventsSettings": {}}`,
		"{" + config.Listing6Settings + config.Listing6 + "}",
		`{"$schema": "x", "eventsSettings": {"Mine": {"onTick": true, "onTock": {"enabled": false}}}}`,
		`{"eventsSettings": {"CFEvents": {"onMine": {"rule": " after  foreign\tcall "}}}}`,
		`{"eventsSettings": {"CFEvents": {"onMine": {"rule": "before return a + b", "functions": "f*"}}}}`,
		`{"eventsSettings": {"CFEvents": {"onMine": {"rule": "before return x;"}}}}`,
		`{"eventsSettings": {"CFEvents": {"onMine": {"rule": "before return"}}}}`,
		`{"eventsSettings": {"CFEvents": {"onMine": {"rule": "around entry"}}}}`,
		`{"eventsSettings": {"CFEvents": {"onMine": {"rule": "after Entry"}}}}`,
		`{"eventsSettings": {"CFEvents": {"onMine": true}}}`,
		`{"eventsSettings": {"CFEvents": {"onMine": {"enabled": true}}}}`,
		`{"eventsSettings": {"CFEvents": {"onCreated": 1}}}`,
		`{"eventsSettings": {"CFEvents": {"onCreated": {"enabled": "yes"}}}}`,
		`{"eventsSettings": {"CFEvents": {"onCreated": {"args": []}}}}`,
		`{"eventsSettings": {"CFEvents": {"onCreated": {"rule": "after entry", "functions": 3}}}}`,
		`{"eventsSettings": {"CFEvents": {"onCreated": {"rule": "after entry", "args": "x"}}}}`,
		`{"eventsSettings": {"CFEvents": true}}`,
		`{"eventsSettings": {"My Events": {}}}`,
		`{"eventsSettings": {"Mine": {"on tick": true}}}`,
		`{"eventsSettings": [], "groups": {}}`,
		`{"eventsSettings": {}, "extra": 1}`,
		`{"eventsSettings": {}, "groups": {"A": {"events": "x"}}}`,
		`{"eventsSettings": {}, "groups": {"A": {"events": ["A:b"]}}}`,
		`{"eventsSettings": {}, "groups": {"A": {"event": []}}}`,
		`{"eventsSettings": {}, "groups": {"A": []}}`,
	} {
		_, ws, err := config.ReadEvents("e.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		ws = slices.DeleteFunc(ws, func(w config.Warning) bool { return strings.Contains(w.Text, "is not listed") })
		if bad := valid(t, events, text); (bad != nil) != (len(ws) > 0) {
			t.Errorf("%s\nthe reader says %v, the schema %v", text, ws, bad)
		}
	}
	for _, text := range []string{
		string(defaultModules), config.Listing3, config.Listing7,
		`{"$schema": "x", "mine": {"enabled": true, "library": "a.so", "params": {"a": 1.5, "b": ["x"], "c": true, "d": "e"}}}`,
		`{"mine": {"params": {"a": null}}}`,
		`{"mine": {"params": {"a": {}}}}`,
		`{"mine": {"params": {"a": [1]}}}`,
		`{"mine": {"params": []}}`,
		`{"mine": {"params": {"a b": 1}}}`,
		`{"mine": {"priority": 1.5}}`,
		`{"mine": {"priority": 1.0}}`,
		`{"mine": {"overrideEnabled": 1}}`,
		`{"mine": {"enable": true}}`,
		`{"mine": true}`,
		`{"my module": {}}`,
		`{"globalSettings": {"enable": true}}`,
		`{"globalSettings": {"enabled": 1}}`,
		`{"globalSettings": false}`,
		`{"libtrace_writer_module": {"library": "x.so"}}`,
		`{"libtrace_writer_module": {"params": {"level": "1"}}}`,
		`{"libtrace_writer_module": {"params": {"leve": 1}}}`,
		`{"libtrace_writer_module": {"params": {"full": "always"}}}`,
	} {
		_, ws, err := config.ReadModules("m.json", []byte(text), prof.Modules())
		if err != nil {
			t.Fatal(err)
		}
		ws = slices.DeleteFunc(ws, func(w config.Warning) bool { return strings.Contains(w.Text, "of your own") })
		if bad := valid(t, modules, text); (bad != nil) != (len(ws) > 0) {
			t.Errorf("%s\nthe reader says %v, the schema %v", text, ws, bad)
		}
	}
}
