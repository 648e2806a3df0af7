package main

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// blocks are the events of GlobalEvents about blocks; their names alone would not tell.
var blocks = map[string]bool{"onStarted": true, "onExited": true, "onWaiting": true,
	"onMigrated": true, "onContinued": true}

// name is an event's name in C: cf_created, df_request_received, block_started, idle.
func name(k *trace.KindSpec) string {
	s := snake(strings.TrimPrefix(k.Name, "on"))
	switch {
	case k.Namespace == "CFEvents", k.Namespace == "DFEvents":
		return strings.ToLower(k.Namespace[:2]) + "_" + s
	case k.Namespace == "GlobalEvents" && blocks[k.Name]:
		return "block_" + s
	}
	return s
}

func snake(s string) string {
	var b strings.Builder
	for i, c := range s {
		if unicode.IsUpper(c) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// types of fields in C; of lists: of their elements.
var types = map[trace.FieldType]string{
	trace.FieldInt: "int64_t", trace.FieldUint: "uint64_t", trace.FieldFloat: "double",
	trace.FieldCF: "ws_cf", trace.FieldDF: "ws_df",
	trace.FieldSite: "ws_site", trace.FieldName: "ws_name", trace.FieldNode: "int",
	trace.FieldMessage: "ws_message",
	trace.FieldNS:      "int64_t", trace.FieldBytes: "int64_t", trace.FieldReason: "int",
	trace.FieldInts: "int64_t", trace.FieldDFs: "ws_df",
}

// word is the word that holds a field.
func word(f trace.Field) string {
	switch f.Type {
	case trace.FieldFloat:
		return "ws_float(" + f.Name + ")"
	case trace.FieldInt, trace.FieldNS, trace.FieldBytes:
		return "(uint64_t)" + f.Name
	case trace.FieldNode:
		return "(uint16_t)" + f.Name // beyond 65535 the block would be refused
	case trace.FieldReason:
		return "(uint8_t)" + f.Name
	}
	return f.Name
}

// lineWidth is the most columns of a line.
const lineWidth = 110

// folded breaks lines that are too long: comments between words, code behind commas.
func folded(text string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		start := len(line) - len(strings.TrimLeft(line, "/* "))
		switch comment := strings.HasPrefix(line, "/* ") || strings.HasPrefix(line, " * "); {
		case len(line) <= lineWidth:
		case comment:
			indent := " * "
			if start > len(indent) { // a field's text goes on further to the right than its name
				indent += strings.Repeat(" ", start-1)
			}
			lines := words.Fold(line[:start], indent, line[start:], lineWidth)
			out, line = append(out, lines[:len(lines)-1]...), lines[len(lines)-1]
		default:
			for len(line) > lineWidth {
				at := strings.LastIndex(line[:lineWidth], ", ") + 1
				out, line = append(out, line[:at]), "       "+line[at:]
			}
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n") + "\n"
}

// events makes the constants and functions of the standard kinds.
func events() string {
	var b strings.Builder
	p := func(format string, args ...any) { b.WriteString(folded(fmt.Sprintf(format, args...))) }
	p("\n/* ---- Standard events, generated from trace/kinds.go " +
		"----------------------------------------------\n" +
		" * Each has a function ws_EVENT(stream, fields), which takes the time, and ws_EVENT_at(stream, time,\n" +
		" * fields). A list is passed as an array and its length. See docs/events.md. */\n")
	p("enum {")
	for _, k := range trace.Kinds() {
		p("    WS_%s = %d, /* %s */", strings.ToUpper(name(&k)), k.Kind, &k)
	}
	p("    WS_FIRST_USER_KIND = %d\n};", trace.FirstUserKind)
	for _, k := range trace.Kinds() {
		event(p, &k)
	}
	return b.String()
}

func event(p func(string, ...any), k *trace.KindSpec) {
	n := name(k)
	var params, args, docs string
	for _, f := range k.Fields {
		docs += fmt.Sprintf("\n *   %s: %s", f.Name, strings.ReplaceAll(f.Doc, "`", "\""))
		if f.Type.List() {
			params += fmt.Sprintf(", const %s *%s, size_t n_%s", types[f.Type], f.Name, f.Name)
			args += fmt.Sprintf(", %s, n_%s", f.Name, f.Name)
			continue
		}
		params += fmt.Sprintf(", %s %s", types[f.Type], f.Name)
		args += ", " + f.Name
	}
	fixed, list := k.List()
	p("\n/* %s: %s%s */", k, strings.ReplaceAll(k.Doc, "`", "\""), docs)
	p("static inline void ws_%s_at(ws_stream *s, int64_t t%s) {", n, params)
	size := fmt.Sprint(1 + fixed)
	if list {
		size = fmt.Sprintf("%d + n_%s", 2+fixed, k.Fields[fixed].Name)
	}
	p("    uint64_t *r = ws_reserve(s, %s, t);", size)
	p("    if (!r) return;")
	for i, f := range k.Fields[:fixed] {
		p("    r[%d] = %s;", i+1, word(f))
	}
	if list {
		f := k.Fields[fixed]
		p("    r[%d] = n_%s;", fixed+1, f.Name)
		p("    for (size_t i = 0; i < n_%s; i++) r[%d + i] = (uint64_t)%s[i];", f.Name, fixed+2, f.Name)
	}
	p("    ws_commit(r, t, WS_%s);\n}", strings.ToUpper(n))
	p("static inline void ws_%s(ws_stream *s%s) {", n, params)
	p("    if (s->cap) ws_%s_at(s, ws_now()%s);\n}", n, args)
}

// table makes the implementation's knowledge of the standard kinds and types.
func table() string {
	var b strings.Builder
	p := func(format string, args ...any) { b.WriteString(folded(fmt.Sprintf(format, args...))) }
	p("\n/* Standard kinds, generated from trace/kinds.go: number, flags of the blocks that hold one, number " +
		"of fixed fields, whether there is a list, namespace, names, types. */")
	p("enum {")
	for t := trace.FieldInt; t.Valid(); t++ {
		p("    WSI_%s = %d,", strings.ToUpper(t.String()), t)
	}
	p("    WSI_TYPES\n};\n")
	p("static const char *const wsi_type_names[WSI_TYPES] = {\n    0,")
	for t := trace.FieldInt; t.Valid(); t++ {
		p("    %q,", t)
	}
	p("};\n")
	p("static const wsi_layout wsi_standard[] = {")
	for _, k := range trace.Kinds() {
		flags := 0
		switch k.Kind {
		case trace.KindProgramStarted:
			flags = 1
		case trace.KindProgramFinished:
			flags = 2
		case trace.KindClockSync:
			flags = 4
		}
		fixed, list := k.List()
		lists := 0
		if list {
			lists = 1
		}
		var t []string
		for _, f := range k.Fields {
			t = append(t, "WSI_"+strings.ToUpper(f.Type.String()))
		}
		if t == nil {
			t = []string{"0"}
		}
		alias := "0"
		if len(k.Alias) > 0 {
			alias = fmt.Sprintf("%q", k.Alias[0])
		}
		p("    {%d, %d, %d, %d, %q, %q, %s, {%s}},", k.Kind, flags, fixed, lists, k.Namespace, k.Name, alias,
			strings.Join(t, ", "))
	}
	p("};")
	return b.String()
}
