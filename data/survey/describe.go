package survey

import (
	"fmt"

	"prenorm/data/dedup"
)

// Methods says in sentences how figures were made, one a part of the survey.
func (s *Survey) Methods() (copies, overlap, lines, packed string) {
	copies = fmt.Sprintf("A document is a copy of an earlier one where it has the same bytes, or where the estimated Jaccard similarity of their %d-word shingles is %g or more: "+
		"MinHash with %d functions, %d bands of %d (found with probability 0.95 at similarity 0.8, 0.9999 at 0.9).",
		dedup.Shingle, dedup.Similar, dedup.Functions, dedup.Bands, dedup.Rows)
	if s.TokenFiles {
		copies += " Training takes token files as they are, with copies."
	} else {
		copies += " data.duplicates: drop_exact or drop_near leaves them out."
	}
	if len(s.Sources) > 0 {
		copies += " Within a source, as data.duplicates compares; of what is no copy there, copies of documents of earlier sources are counted besides, and stay in training."
	}
	if s.Copies.Full || s.Across != nil && s.Across.Full {
		copies += fmt.Sprintf(" Only the first %d documents that are no copies were compared with.", dedup.Most)
	}
	overlap = fmt.Sprintf("N-grams of %d words in the validation text that occur anywhere in the training text; case and punctuation do not count, and a shorter document is one n-gram.", s.Overlap.Words)
	if len(s.Sources) > 0 {
		overlap += " The training text is that of all sources; an n-gram in that of several counts for each of them."
	}
	if s.Overlap.Sampled > 1 {
		overlap += fmt.Sprintf(" One of %d n-grams was looked for, those of the smallest hashes.", s.Overlap.Sampled)
	}
	lines = fmt.Sprintf("Cross-entropies on the validation text of predictors with the training text's counts: unigram with Laplace's rule, bigram with Witten-Bell smoothing (counts of %d pairs).", s.Lines.Pairs)
	if len(s.Sources) > 0 {
		lines += " Every source has counts of its own; what is told of all is the mean by their weights from step 1 on, as the loss of validation is, and so it is with packing."
	}
	if s.Lines.Full {
		lines += " Counting ended early, as there was no room for more different pairs."
	}
	packed = fmt.Sprintf("The first %d MiB of each text, alone; given: the validation text by zstd behind the last %d MiB of the training text.", mostPacked>>20, mostGiven>>20)
	return copies, overlap, lines, packed
}
