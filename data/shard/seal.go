package shard

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
)

// Seal is a line of JSON, then its SHA-256 on a line of its own. [Unseal] finds every change of it.
func Seal(line []byte) []byte { return fmt.Appendf(line, "\n%x\n", sha256.Sum256(line)) }

// Unseal decodes what [Seal] made into v. It is an error where the checksum is not that of the content.
func Unseal(content []byte, v any) error {
	line, sum, _ := bytes.Cut(content, []byte("\n"))
	if string(sum) != fmt.Sprintf("%x\n", sha256.Sum256(line)) {
		return errors.New("its checksum does not match its content")
	}
	return json.Unmarshal(line, v)
}
