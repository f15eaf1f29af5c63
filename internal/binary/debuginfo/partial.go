package debuginfo

import (
	"trocar/internal/binary/section"
	"trocar/internal/binary/types"
)

// partialLanguage is the language of a partial unit, which dwz makes of parts of several units and leaves without
// DW_AT_language: that of the first unit that imports it.
func (in *Info) partialLanguage(u *unit) types.Language {
	in.partialOnce.Do(func() {
		in.partialLangs = make(map[*unit]types.Language)
		for _, c := range in.main.unitList() {
			if c.typeOff != 0 || c.isPartial() {
				continue
			}
			if ro := c.load(); ro.err == nil && ro.lang != types.UnknownLanguage {
				in.spreadLanguage(c, ro.lang, 0)
			}
		}
	})
	return in.partialLangs[u]
}

// maxImports bounds the nesting of imported units.
const maxImports = 32

// spreadLanguage gives a unit's language to those it imports.
func (in *Info) spreadLanguage(u *unit, lang types.Language, depth int) {
	t, err := u.table()
	if err != nil || depth > maxImports {
		return
	}
	var d die
	if !d.read(u, t, u.first) {
		return
	}
	d.eachChild(func(c *die) bool {
		v, ok := c.get(atImport)
		if c.tag != tagImportedUnit || !ok {
			return true
		}
		f := u.f
		if v.form == formGNURefAlt || v.form == formRefSup4 || v.form == formRefSup8 {
			f = f.alt
		}
		if f == nil {
			return true
		}
		p := f.unitAt(u.sec, v.u)
		if p != nil && in.partialLangs[p] == types.UnknownLanguage {
			in.partialLangs[p] = lang
			in.spreadLanguage(p, lang, depth+1)
		}
		return true
	})
}

// isPartial tells a partial unit, without reading more than the abbreviation of its first entry.
func (u *unit) isPartial() bool {
	if u.kind == utPartial || u.version >= 5 {
		return u.kind == utPartial
	}
	t, err := u.table()
	if err != nil {
		return false
	}
	r := section.Reader{Data: u.b, Pos: u.first}
	ab := t.find(r.ULEB())
	return ab != nil && ab.tag == tagPartialUnit
}
