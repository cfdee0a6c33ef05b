// Package survey looks at a run's text: how much there is and of what scripts, what of it is there twice, what of the validation text occurs in the
// training text, and how far predictors and packers that know little come with it. Of several sources it looks at each, and at all together. Token
// files of other programs are looked at by the text that their ids stand for, where their tokenizer is known, and by their ids alone where it is not.
//
// Memory does not grow with the bytes of text. Copies take what a [prenorm/data/dedup.Finder] takes a document, and its name, of one source at a
// time, and those across sources as much again for the documents of all; overlap takes at most [mostGrams] n-grams of all sources, and as many a document at hand; reference lines are bounded by package baseline;
// packing looks at [mostPacked] bytes.
package survey

import (
	"io"

	"prenorm/data/baseline"
)

// Options are what a survey leaves to the program.
type Options struct {
	Stdin    io.Reader                             // what "-" stands for; nil where there is no standard input
	Dir      string                                // where what has to be on disk is kept meanwhile, as of [corpus.Open]
	Progress func(stage string, done, total int64) // told of bytes of text; may be nil
	Stop     func() error                          // asked again and again; an error that it returns ends the survey; may be nil
}

// Survey is what was found.
type Survey struct {
	Tokenizer string `json:"tokenizer"` // kind, [Unknown] where nothing names it
	Vocab     int    `json:"vocab"`     // of an unknown tokenizer one more than the highest id
	Part
	Sources []Source `json:"sources,omitempty"` // where there are several
	Across  *Across  `json:"across,omitempty"`  // copies across them
	Stages  []int    `json:"stages,omitempty"`  // first steps of the sources' weights
	Notes   []string `json:"notes,omitempty"`   // on how the text was divided, and on what cannot be known
}

// Part is what was found of one text. Of all sources together, counts are sums, and what is a figure a token or a byte is the mean by the sources'
// weights, as the loss of their validation is.
type Part struct {
	Text       bool       `json:"text"`        // false: ids of an unknown tokenizer, of which only tokens and lines are known
	TokenFiles bool       `json:"token_files"` // all text is what the ids of other programs' files stand for
	Train      Side       `json:"train"`
	Val        Side       `json:"val"`
	Odd        OddRead    `json:"odd"`
	Copies     Copies     `json:"duplicates"`
	Overlap    Overlap    `json:"overlap"`
	Lines      References `json:"lines"`
}

// Source is one of several sources.
type Source struct {
	Name     string    `json:"name"`
	Weights  []float64 `json:"weights"`   // share of the rows in each stage
	Share    Share     `json:"share"`     // of the training text of all sources
	FoundIn  []int64   `json:"found_in"`  // by source: n-grams of this source's validation text that are in that one's training text
	CopiesOf []Between `json:"copies_of"` // by source: of an earlier one, documents of this one that are copies of that one's
	Part
}

// Share is a source's of what all have.
type Share struct {
	Documents float64 `json:"documents"`
	Bytes     float64 `json:"bytes"`
	Tokens    float64 `json:"tokens"`
}

// Side describes one of the two texts. Where data.duplicates drops documents, they are not in it.
type Side struct {
	Documents  int      `json:"documents"` // of token files: by the id that stands between documents; 0 where that is not known
	Bytes      int64    `json:"bytes"`
	Tokens     int64    `json:"tokens"` // separators between documents included
	Characters int64    `json:"characters"`
	Words      int64    `json:"words"`   // as package dedup divides text
	Lengths    []Bin    `json:"lengths"` // of documents, in bytes
	Scripts    []Script `json:"scripts"` // by the number of letters, most first
	Odd        OddKept  `json:"odd"`
	Packed     Packed   `json:"packed"`
}

// Bin is documents of so many bytes: Below/2 to Below-1.
type Bin struct {
	Below     int64 `json:"below"`
	Documents int   `json:"documents"`
	Bytes     int64 `json:"bytes"`
}

// Copies are documents that are copies of an earlier one, in the whole text before it is divided. Of several sources each is looked at by itself;
// copies across them are [Across].
type Copies struct {
	Compared int           `json:"compared"`   // documents
	Exact    int           `json:"exact"`      // copies with the same bytes
	Near     int           `json:"near"`       // similar ones besides
	Bytes    int64         `json:"bytes"`      // of both
	Full     bool          `json:"full"`       // there were too many documents to compare all
	Hist     [10]int       `json:"similarity"` // near copies by tenths of what is between the least similarity and 1
	List     []CopyListing `json:"list"`       // the first mostListed
}

// CopyListing is a document and that of which it is a copy.
type CopyListing struct {
	Document   string  `json:"document"`
	Of         string  `json:"of"`
	Similarity float64 `json:"similarity"`
	Exact      bool    `json:"exact"`
	Bytes      int64   `json:"bytes"`
}

// References are the lines that losses are told by, and how they were estimated.
type References struct {
	baseline.Lines
	BitsPerByte struct {
		Uniform float64 `json:"uniform"`
		Unigram float64 `json:"unigram"`
		Bigram  float64 `json:"bigram"`
	} `json:"bits_per_byte"` // of the validation text; 0 where the text is not known
	TrainUnigram float64 `json:"train_unigram"` // entropy of the training text's own counts, in nats a token
	TrainBigram  float64 `json:"train_bigram"`
}

// mostListed is how many copies and how many overlapping documents are listed.
const mostListed = 1000
