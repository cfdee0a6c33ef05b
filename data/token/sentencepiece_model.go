package token

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// The types of a piece.
const (
	pieceNormal = 1 + iota
	pieceUnknown
	pieceControl
	pieceUserDefined
	pieceUnused
	pieceByte
)

// spModel is what a SentencePiece model says (sentencepiece_model.proto of that project), as far as it is used.
type spModel struct {
	pieces       []spPiece
	modelType    uint64
	byteFallback bool
	normalizer   spNormalizer
	denormalizer spNormalizer
}

type spPiece struct {
	text  string
	score float32
	kind  uint64
}

type spNormalizer struct {
	charsMap          int // bytes
	dummyPrefix       bool
	removeExtraSpaces bool
	escapeSpaces      bool
}

// isSentencePiece says whether a file looks like a model: it begins with a piece that begins with its text.
func isSentencePiece(file []byte) bool {
	return len(file) > 3 && file[0] == 1<<3|byte(protowire.BytesType) && file[2] == 1<<3|byte(protowire.BytesType)
}

// parseModel reads a model.
func parseModel(file []byte) (spModel, error) {
	m := spModel{modelType: 1, normalizer: spNormalizer{dummyPrefix: true, removeExtraSpaces: true, escapeSpaces: true}}
	err := fields(file, func(number protowire.Number, f field) error {
		switch number {
		case 1:
			p, err := parsePiece(f.bytes)
			m.pieces = append(m.pieces, p)
			return err
		case 2:
			return fields(f.bytes, func(number protowire.Number, f field) error {
				switch number {
				case 3:
					m.modelType = f.number
				case 35:
					m.byteFallback = f.number != 0
				}
				return nil
			})
		case 3:
			return m.normalizer.parse(f.bytes)
		case 5:
			return m.denormalizer.parse(f.bytes)
		}
		return nil
	})
	return m, err
}

func parsePiece(text []byte) (spPiece, error) {
	p := spPiece{kind: pieceNormal}
	err := fields(text, func(number protowire.Number, f field) error {
		switch number {
		case 1:
			p.text = string(f.bytes)
		case 2:
			p.score = math.Float32frombits(uint32(f.number))
		case 3:
			p.kind = f.number
		}
		return nil
	})
	return p, err
}

func (n *spNormalizer) parse(text []byte) error {
	return fields(text, func(number protowire.Number, f field) error {
		switch number {
		case 2:
			n.charsMap = len(f.bytes)
		case 3:
			n.dummyPrefix = f.number != 0
		case 4:
			n.removeExtraSpaces = f.number != 0
		case 5:
			n.escapeSpaces = f.number != 0
		}
		return nil
	})
}

// field is the content of a field: bytes or a number, by its wire type.
type field struct {
	bytes  []byte
	number uint64
}

var errProto = errors.New("damaged: not a protocol buffer message")

// fields calls f with every field of a message.
func fields(message []byte, f func(protowire.Number, field) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errProto
		}
		message = message[n:]
		var content field
		switch kind {
		case protowire.VarintType:
			content.number, n = protowire.ConsumeVarint(message)
		case protowire.Fixed32Type:
			var bits uint32
			bits, n = protowire.ConsumeFixed32(message)
			content.number = uint64(bits)
		case protowire.BytesType:
			content.bytes, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return errProto
		}
		message = message[n:]
		if err := f(number, content); err != nil {
			return err
		}
	}
	return nil
}

// check refuses models that are not BPE, and those that change the text, which then does not come back.
func (m spModel) check() error {
	names := map[uint64]string{1: "UNIGRAM", 2: "BPE", 3: "WORD", 4: "CHAR"}
	const changes = "is not supported: it changes the text, which then does not come back"
	switch n := m.normalizer; {
	case m.modelType != 2:
		name, known := names[m.modelType]
		if !known {
			name = fmt.Sprint(m.modelType)
		}
		return fmt.Errorf("trainer_spec.model_type: %s is not supported (want BPE)", name)
	case n.charsMap > 0:
		return fmt.Errorf("normalizer_spec.precompiled_charsmap %s (want the rule identity)", changes)
	case m.denormalizer.charsMap > 0:
		return fmt.Errorf("denormalizer_spec.precompiled_charsmap %s (want none)", changes)
	case n.dummyPrefix:
		return fmt.Errorf("normalizer_spec.add_dummy_prefix: true %s (want false)", changes)
	case n.removeExtraSpaces:
		return fmt.Errorf("normalizer_spec.remove_extra_whitespaces: true %s (want false)", changes)
	case !n.escapeSpaces:
		return errors.New("normalizer_spec.escape_whitespaces: false is not supported (want true)")
	case len(m.pieces) > maxVocab:
		return fmt.Errorf("pieces: %d, more than the %d allowed", len(m.pieces), maxVocab)
	}
	return nil
}
