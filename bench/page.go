package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The page of results, docs/benchmarks.md, is a head, written by hand, and a section for each bench. A
// comment begins each section and names the bench, so that one bench can renew its own and leave the rest as
// it is.

const pageHead = "# Benchmarks\n\n" +
	"Written by `cd bench && go run . -o ../docs/benchmarks.md`, or sections of it, if you add the names of\n" +
	"benches. Competitors took turns within one run; figures are medians. Look at the ratios: the " +
	"nanoseconds\n" +
	"depend on the machine and its load.\n"

const (
	sectionBegin = "<!-- bench "
	sectionEnd   = " -->\n"
)

// sections splits a page into its sections, by the name of the bench. It returns none for a page that has no
// comments of ours.
func sections(page string) map[string]string {
	all := map[string]string{}
	for _, part := range strings.Split(page, sectionBegin)[1:] {
		if name, text, ok := strings.Cut(part, sectionEnd); ok {
			all[name] = strings.Trim(text, "\n") + "\n"
		}
	}
	return all
}

// section is what the page has of a bench, "" if that has not run.
func (b *bench) section(name string) string {
	var out bytes.Buffer
	for _, t := range b.tables {
		if t.bench != name {
			continue
		}
		t.markdown(&out)
	}
	if out.Len() == 0 {
		return ""
	}
	fmt.Fprintf(&out, "\nMachine: %s.\n", machine())
	if b.quick {
		out.WriteString("\nThis was a quick run: the figures show that the bench works, nothing else.\n")
	}
	return strings.Trim(out.String(), "\n") + "\n"
}

// page puts a page together: the old head, and old sections where a bench has not run.
func (b *bench) page(old string) string {
	kept := sections(old)
	page := pageHead
	if head, _, ok := strings.Cut(old, sectionBegin); ok {
		page = strings.TrimRight(head, "\n") + "\n"
	}
	for _, c := range benches {
		text := b.section(c.name)
		if text == "" {
			text = kept[c.name]
		}
		if text != "" {
			page += "\n" + sectionBegin + c.name + sectionEnd + "\n" + text
		}
	}
	return page
}

// renew writes the page, and the figures beside it.
func (b *bench) renew(file string) error {
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(old) > 0 && len(sections(string(old))) == 0 {
		return fmt.Errorf("%s has no sections of benches, so it is not overwritten: name another file with -o",
			file)
	}
	for _, t := range b.tables {
		if t.figure != nil {
			if err := os.WriteFile(filepath.Join(filepath.Dir(file), t.figure.file), t.figure.svg, 0o666); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(file, []byte(b.page(string(old))), 0o666)
}
