package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"prenorm/data/token"
)

type tokenizerEncodeFlags struct {
	tokenizer string
	special   bool
}

func newTokenizerEncode() *cobra.Command {
	f := &tokenizerEncodeFlags{}
	cmd := &cobra.Command{
		Use:   "encode [FILE...] --tokenizer KIND|FILE|RUN",
		Short: "print the ids of texts",
		Long: `Print the ids of files, or of standard input: decimal numbers with a space between, and a line for each file. Nothing else is printed, and no
separator is put in. The bytes are taken as they are; a text of any size takes little memory. Text that reads as a special token is ordinary
characters, unless --special is given.`,
		Example: `  prenorm tokenizer encode book.txt --tokenizer gpt2
  echo "The rays of light" | prenorm tokenizer encode --tokenizer cl100k
  prenorm tokenizer encode book.txt --tokenizer runs/quickstart`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	tokenizerFlag(cmd, &f.tokenizer)
	cmd.Flags().BoolVar(&f.special, "special", false, "the text of a special token becomes its id")
	return cmd
}

func (f *tokenizerEncodeFlags) run(cmd *cobra.Command, files []string) error {
	t, err := openTokenizer(cmd, f.tokenizer)
	if err != nil {
		return err
	}
	encode := t.Encode
	if f.special {
		with, ok := t.(token.WithSpecials)
		if !ok {
			return usageError{errNoSpecials}
		}
		encode = with.EncodeSpecials
	}
	out := bufio.NewWriterSize(cmd.OutOrStdout(), 1<<16)
	err = eachInput(cmd, files, func(name string, r io.Reader) error {
		first := true
		err := token.EncodeReader(encode, token.PlacesOf(t), r, func(ids []int32) error {
			return writeIDs(out, ids, &first)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return out.WriteByte('\n')
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// writeIDs goes on with a line of ids.
func writeIDs(out *bufio.Writer, ids []int32, first *bool) error {
	for _, id := range ids {
		b := out.AvailableBuffer()
		if !*first {
			b = append(b, ' ')
		}
		*first = false
		if _, err := out.Write(strconv.AppendInt(b, int64(id), 10)); err != nil {
			return err
		}
	}
	return nil
}

func newTokenizerDecode() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "decode [FILE...] --tokenizer KIND|FILE|RUN",
		Short: "write the text of ids",
		Long: `Write the bytes of ids that files, or standard input, hold as decimal numbers with white space between, as encode prints them. Nothing is put
between lines, so that what encode made of one file comes back as it was.`,
		Example: "  prenorm tokenizer encode book.txt --tokenizer gpt2 | prenorm tokenizer decode --tokenizer gpt2",
		RunE: func(cmd *cobra.Command, files []string) error {
			t, err := openTokenizer(cmd, name)
			if err != nil {
				return err
			}
			out := bufio.NewWriterSize(cmd.OutOrStdout(), 1<<16)
			if err := eachInput(cmd, files, func(name string, r io.Reader) error { return decodeIDs(t, name, r, out) }); err != nil {
				return err
			}
			return out.Flush()
		},
	}
	tokenizerFlag(cmd, &name)
	return cmd
}

func decodeIDs(t token.Tokenizer, name string, r io.Reader, out *bufio.Writer) error {
	words := bufio.NewScanner(r)
	words.Split(bufio.ScanWords)
	number := 0
	for words.Scan() {
		number++
		id, err := strconv.ParseInt(words.Text(), 10, 32)
		if err != nil {
			return usageError{fmt.Errorf("%s: number %d: %q is no token id: ids are whole numbers with white space between", name, number, clip(words.Text()))}
		}
		if id < 0 || int(id) >= t.Vocab() { // said here, as Decode counts within a call, which is of one id
			return usageError{fmt.Errorf("%s: number %d: id %d is outside the vocabulary [0, %d) of tokenizer %s: the ids come from another tokenizer", name, number, id, t.Vocab(), t.Kind())}
		}
		text, err := t.Decode(out.AvailableBuffer(), int32(id))
		if err != nil {
			return err
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	if err := words.Err(); err != nil {
		return usageError{fmt.Errorf("%s: behind number %d: %w", name, number, err)}
	}
	return nil
}

// clip keeps a word from filling the screen.
func clip(word string) string {
	if len(word) > 40 {
		return word[:40] + "..."
	}
	return word
}
