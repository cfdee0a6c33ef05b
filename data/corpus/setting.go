package corpus

// argument stands for the key where patterns come from the command line rather than from a setting.
const argument = "text"

// owner is the name of the one of data.sources that a text is of, "" where there is only one text. Messages name settings by it.
type owner string

func (o owner) train() string { return o.key("data.train", "train") }

func (o owner) val() string { return o.key("data.val.files", "val") }

func (o owner) key(alone, inside string) string {
	if o == "" {
		return alone
	}
	return inside
}

// remedy is how the user names another text.
func (o owner) remedy(key string) string {
	switch {
	case key == argument:
		return "on the command line"
	case o != "":
		return "in " + key + " of source " + string(o)
	}
	return "with --set " + key + "=PATH"
}

// ValFiles is where files for validation are named: of a source with a name, or of the only text.
func ValFiles(name string) string {
	if name == "" {
		return "data.val.files"
	}
	return "val of source " + name
}
