package train

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"prenorm/model"
	"prenorm/train/safetensors"
)

// maxMisfits is how many tensors a message about weights that do not fit names.
const maxMisfits = 5

// size is what the names and shapes of tensors tell of a model; 0 where they do not.
type size struct{ layers, width, vocab int }

// String names what is known.
func (s size) String() string {
	var parts []string
	if s.layers > 0 {
		parts = append(parts, fmt.Sprintf("layers %d", s.layers))
	}
	if s.width > 0 {
		parts = append(parts, fmt.Sprintf("width %d", s.width))
	}
	if s.vocab > 0 {
		parts = append(parts, fmt.Sprintf("vocabulary %d", s.vocab))
	}
	return strings.Join(parts, ", ")
}

// add takes a tensor into account: the number in layers.N. and the shape [vocab, width] of the embedding.
func (s *size) add(name string, shape []int) {
	if rest, ok := strings.CutPrefix(name, "layers."); ok {
		number, _, _ := strings.Cut(rest, ".")
		if n, err := strconv.Atoi(number); err == nil && n >= 0 {
			s.layers = max(s.layers, n+1)
		}
	}
	if name == embedding && len(shape) == 2 {
		s.vocab, s.width = shape[0], shape[1]
	}
}

// embedding is the name of the token embedding.
const embedding = "embed_tokens.weight"

// fitModel is fit for a model's parameters and buffers; no memory is taken for them.
func fitModel(c model.Config, tensors []safetensors.Tensor) error {
	net, err := model.Build(c, model.Options{Mode: model.Logits, B: 1, T: 1})
	if err != nil {
		return err
	}
	return fit(append(net.Table(), net.Buffers()...), tensors)
}

// fit returns an error where tensors are not those of a model's table: what the two sizes are, then the first tensors that differ. Other tensors
// that the model does not have are passed over, but layers are not.
func fit(table []model.Param, tensors []safetensors.Tensor) error {
	var have, want size
	shapes := make(map[string][]int, len(tensors))
	for _, t := range tensors {
		have.add(t.Name, t.Shape)
		shapes[t.Name] = t.Shape
	}
	var wrong []string
	for _, p := range table {
		want.add(p.Name, p.Shape)
		switch shape, ok := shapes[p.Name]; {
		case !ok:
			wrong = append(wrong, fmt.Sprintf("%s %v is missing", p.Name, p.Shape))
		case !slices.Equal(shape, p.Shape):
			wrong = append(wrong, fmt.Sprintf("%s is %v, the model wants %v", p.Name, shape, p.Shape))
		}
	}
	if have.layers > want.layers {
		wrong = append(wrong, fmt.Sprintf("%d layers are left over", have.layers-want.layers))
	}
	if len(wrong) == 0 {
		return nil
	}
	summary := "the weights do not fit the model"
	if have != (size{}) {
		summary = fmt.Sprintf("the weights are of a model with %v, the model here has %v", have, want)
	}
	if have.vocab != want.vocab && have.vocab > 0 {
		summary += " (the vocabulary is the tokenizer's, or model.vocab)"
	}
	if more := len(wrong) - maxMisfits; more > 0 {
		wrong = append(wrong[:maxMisfits], fmt.Sprintf("… and %d more", more))
	}
	return fmt.Errorf("%s", strings.Join(append([]string{summary}, wrong...), "\n  "))
}
