package main

import (
	"fmt"
	"slices"
	"strings"

	"prenorm/configs"
	"prenorm/train"
)

// shapeless are sections of the model, and keys, that no tensor's name or shape hangs on. The context does where positions are learned, which
// is told by itself.
var shapeless = []string{"model.context", "model.dropout", "model.init", "model.logit_softcap", "model.embed_scale", "model.norm.eps", "model.norm.unit_offset",
	"model.norm.alpha", "model.norm.momentum", "model.position.theta", "model.position.scaling", "model.attention.window", "model.attention.scale", "model.attention.softcap"}

// modelDiffers says which settings of the model differ between the run file that weights come with and a run that they do not fit: the setting,
// both values, and what to do.
func modelDiffers(config []byte, run configs.Run) (lines []string) {
	there, err := configs.Parse(train.ConfigFile, config, nil)
	if err != nil {
		return nil
	}
	sets := ""
	for _, c := range configs.Diff(there.Run, run) {
		if !strings.HasPrefix(c.Key, "model.") || slices.ContainsFunc(shapeless, func(s string) bool { return c.Key == s || strings.HasPrefix(c.Key, s+".") }) {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s is %s there and %s here", c.Key, c.From, c.To))
		sets += " --set " + shellWord(c.Key+"="+c.From)
	}
	if lines != nil {
		lines = append(lines, "to have the model of the weights, set as there:"+sets+"; or leave init_from out")
	}
	return lines
}
