package data

import (
	"fmt"
	"slices"
	"strings"
)

// Format is how documents lie in a file. It is told by the file's name, or by data.format where the name does not tell.
type Format struct {
	Kind    string // text, jsonl, csv, tsv, parquet; tar for an archive, whose members tell theirs
	Packing string // "", gzip or zstd
}

// Several says whether a file of this format may hold more than one document.
func (f Format) Several() bool { return f.Kind != "text" }

// kinds says which extension means which kind.
var kinds = map[string]string{
	"txt": "text", "md": "text", "jsonl": "jsonl", "ndjson": "jsonl", "csv": "csv", "tsv": "tsv", "parquet": "parquet", "tar": "tar",
}

// packings says which extension behind the first means which compression.
var packings = map[string]string{"gz": "gzip", "zst": "zstd"}

// NoExtension is what a folder or an archive without text lacks: a file with one of the extensions.
const NoExtension = "no .txt or .md file, nor a .jsonl, .ndjson, .csv, .tsv, .parquet or .tar, alone or with .gz or .zst behind it"

// Extensions says in a sentence which files are read.
const Extensions = "read are .jsonl, .ndjson, .csv, .tsv, .parquet, .tar, and everything else as plain text, alone or with .gz or .zst behind it"

// repack says which program unpacks files with extensions of compressions that are not read.
var repack = map[string]string{"bz2": "bzip2", "tbz": "bzip2", "tbz2": "bzip2", "xz": "xz", "txz": "xz", "lzma": "xz", "lz4": "lz4"}

// Unread says how to make a text that is read of a file whose name tells that it is not, or not as what it is: archives and compressions of other
// kinds, and JSON that is not a line a record. It is "" for other files.
func Unread(name string) string {
	rest, extension := cutExtension(name)
	if program, packed := repack[extension]; packed {
		if extension[0] == 't' {
			rest += ".tar"
		}
		return fmt.Sprintf("pack it anew (%s -dc %s | zstd > %s.zst)", program, name, rest)
	}
	switch extension {
	case "zip", "7z", "rar":
		return "unpack it and name the folder"
	case "json":
		return fmt.Sprintf("make a line of each record (jq -c '.[]' %s > %s.jsonl)", name, rest)
	}
	if packing := packings[extension]; packing != "" && JSON(rest) {
		rest, _ = cutExtension(rest)
		return fmt.Sprintf("make a line of each record (%s -dc %s | jq -c '.[]' > %s.jsonl)", packing, name, rest)
	}
	return ""
}

// binary are extensions of files that hold no text that could be read as it is: documents with a layout, pictures, sound, films, archives, programs,
// arrays and databases.
var binary = strings.Fields(`
	pdf ps djvu doc docx xls xlsx ppt pptx odt ods odp epub mobi
	png jpg jpeg gif bmp tif tiff webp ico psd heic mp3 wav flac ogg m4a mp4 mkv avi mov webm
	z br lzo rpm deb jar war iso dmg exe dll so dylib a o obj class pyc wasm woff woff2 ttf otf
	pkl pickle npy npz pt pth ckpt safetensors gguf onnx h5 hdf5 mat arrow feather orc avro idx lmdb mdb db sqlite sqlite3 tok model`)

// Binary says whether a file's name tells that it is no text.
func Binary(name string) bool {
	rest, extension := cutExtension(name)
	if packings[extension] != "" {
		_, extension = cutExtension(rest)
	}
	return slices.Contains(binary, extension)
}

// JSON says whether a file's name tells that it is JSON, packed or not, but not a line a record.
func JSON(name string) bool {
	rest, extension := cutExtension(name)
	if packings[extension] != "" {
		_, extension = cutExtension(rest)
	}
	return extension == "json"
}

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
