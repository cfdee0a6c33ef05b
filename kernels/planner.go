package kernels

// planners open backends that plan and do nothing else, by their names.
var planners = map[string]func(Options) (Backend, error){}

// RegisterPlanner makes planning for a backend possible where its device is not there: Workspace of what open returns says what it says with
// a device, and whatever needs one is an error. It is called from init functions.
func RegisterPlanner(name string, open func(Options) (Backend, error)) { planners[name] = open }

// OpenPlanner starts a backend for planning alone. known is false where none is registered by that name.
func OpenPlanner(name string, o Options) (be Backend, known bool, err error) {
	open, known := planners[name]
	if !known {
		return nil, false, nil
	}
	be, err = open(o)
	return be, true, err
}
