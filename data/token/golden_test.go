package token

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"prenorm/data/token/varied"
)

// hashIDs is the SHA-256 of ids as int32, little endian, as the scripts in peers print it.
func hashIDs(ids []int32) string {
	b := make([]byte, 0, 4*len(ids))
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint32(b, uint32(id))
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func load(t testing.TB, file string) Tokenizer {
	t.Helper()
	tokenizer, err := Load(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer
}

// TestGoldenIDs holds ids of varied text against what the scripts in peers took from tiktoken 0.14.0, tokenizers 0.23.3 and sentencepiece 0.2.3.
func TestGoldenIDs(t *testing.T) {
	text := varied.Text(1, 200_000)
	for kind, want := range map[string]string{
		"gpt2":   "a20e876af70cbe282a1624cc1dd612cc992098e122e979389c10d75ea08acaa6",
		"p50k":   "72360814aff4d1f90582aab0fd89ef3fcadb44cbee7e418f4f1187b385ecdce3",
		"cl100k": "e0cff2608517ac096a938faed9126ff4ad1a0d2e6077b036db0e90ead99651d5",
		"o200k":  "6bd14a8a8b41ae34f392747cce0b4cfb282c2f38f5498d98f579a999b29bdf73",
	} {
		tokenizer, err := Open(kind)
		if err != nil {
			t.Fatal(err)
		}
		if got := hashIDs(mustEncode(t, tokenizer, string(text))); got != want {
			t.Errorf("%s: ids of SHA-256 %s, want %s", kind, got, want)
		}
	}
	for _, c := range []struct {
		file, want string
		text       []byte
	}{
		{"hf-gpt2.json", "e7786db6e4f6a28f90f13b9b7da787daf3d31fd46ca43a7a1d7dac1b23d766c7", text},
		{"hf-o200k.json", "06b660f16d6c0b4708b476c962bc3280a574cc1faef63277e06356a1c49a35c4", text},
		{"bpe.model", "febc6c16314b579c1d2fe7b463a18e3d0057a451173e03a747ba68c51c25a928",
			bytes.ReplaceAll(varied.Text(7, 400_000), []byte(spSpace), []byte("_"))},
	} {
		tokenizer := load(t, c.file)
		ids := mustEncode(t, tokenizer, string(c.text))
		if got := hashIDs(ids); got != c.want {
			t.Errorf("%s: ids of SHA-256 %s, want %s", c.file, got, c.want)
		}
		if back, err := tokenizer.Decode(nil, ids...); err != nil || !bytes.Equal(back, c.text) {
			t.Errorf("%s: the text does not come back (%v)", c.file, err)
		}
	}
}

// TestGoldenMerges trains on the text that the files of tokenizers were trained on, with any number of cores.
func TestGoldenMerges(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	text := varied.Text(9, 300_000)
	for _, pattern := range []string{"gpt2", "o200k"} {
		file, err := os.ReadFile(filepath.Join("testdata", "hf-"+pattern+".json"))
		if err != nil {
			t.Fatal(err)
		}
		want := mergesOf(t, file)
		for _, cores := range []int{1, 2, 5} {
			runtime.GOMAXPROCS(cores)
			trained, err := Train(Training{Vocab: 600, Pattern: pattern, Bytes: BytesAsGPT2}, one(string(text)), nil)
			if err != nil {
				t.Fatal(err)
			}
			written, err := MarshalHF(trained)
			if err != nil {
				t.Fatal(err)
			}
			if got := mergesOf(t, written); !slices.Equal(got, want) {
				t.Errorf("%s, %d cores: %d merges, not the %d of the file", pattern, cores, len(got), len(want))
			}
		}
	}
}

func mergesOf(t testing.TB, file []byte) [][2]string {
	t.Helper()
	var f struct {
		Model struct {
			Merges []hfMerge `json:"merges"`
		} `json:"model"`
	}
	if err := json.Unmarshal(file, &f); err != nil {
		t.Fatal(err)
	}
	var merges [][2]string
	for _, m := range f.Model.Merges {
		merges = append(merges, m)
	}
	return merges
}

// TestGPT2BytesAreGPT2s holds the order of the bytes, which decides ties, against the published table.
func TestGPT2BytesAreGPT2s(t *testing.T) {
	if got, want := gpt2Bytes(), newGPT2(t).(publishedTokenizer).byteID; got != want {
		t.Errorf("%d, want %d", got, want)
	}
}
