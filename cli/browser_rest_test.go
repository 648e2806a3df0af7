package cli

import "testing"

func pageBig(t *testing.T, p *pages)       { t.SkipNow() }
func pageLive(t *testing.T, p *pages)      { t.SkipNow() }
func pageCollector(t *testing.T, p *pages) { t.SkipNow() }
func pageCompare(t *testing.T, p *pages)   { t.SkipNow() }
func pageSaved(t *testing.T, p *pages)     { t.SkipNow() }
func pageToken(t *testing.T, p *pages)     { t.SkipNow() }
