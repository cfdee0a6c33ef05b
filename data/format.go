package data

import "strings"

// Format is how documents lie in a file. It is told by the file's name, or by data.format where the name does not tell.
type Format struct {
	Kind    string // text, jsonl, csv, tsv, parquet; tar for an archive, whose members tell theirs
	Packing string // "", gzip or zstd
}

// Several says whether a file of this format may hold more than one document.
func (f Format) Several() bool { return f.Kind != "text" }

// Plain says whether the bytes of the file are its one text.
func (f Format) Plain() bool { return f == Format{Kind: "text"} }

// kinds says which extension means which kind.
var kinds = map[string]string{
	"txt": "text", "md": "text", "jsonl": "jsonl", "ndjson": "jsonl", "csv": "csv", "tsv": "tsv", "parquet": "parquet", "tar": "tar",
}

// packings says which extension behind the first means which compression.
var packings = map[string]string{"gz": "gzip", "zst": "zstd"}

// NoExtension is what a folder or an archive without text lacks: a file with one of the extensions.
const NoExtension = "no .txt or .md file, nor a .jsonl, .ndjson, .csv, .tsv, .parquet or .tar, alone or with .gz or .zst behind it"

// FormatOf returns the format that the extensions of a file's name mean, and whether they mean one. Upper and lower case are the same.
func FormatOf(name string) (f Format, known bool) {
	rest, extension := cutExtension(name)
	if extension == "tgz" {
		return Format{"tar", "gzip"}, true
	}
	if packing, packed := packings[extension]; packed {
		f.Packing = packing
		_, extension = cutExtension(rest)
	}
	f.Kind, known = kinds[extension]
	return f, known
}

// Or returns the format for a file whose name does not tell one: fallback, a value of data.format, with the packing that the name tells.
func Or(name, fallback string) Format {
	if f, known := FormatOf(name); known {
		return f
	}
	f, _ := FormatOf("." + fallback)
	if _, extension := cutExtension(name); f.Packing == "" {
		f.Packing = packings[extension]
	}
	return f
}

// cutExtension splits a name at its last dot; the extension is in lower case.
func cutExtension(name string) (rest, extension string) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return name, ""
	}
	return name[:i], strings.ToLower(name[i+1:])
}
