package transform

// Former returns encoded sources with the module of former ones, and the spec and the policies
// of the current ones: an instance that keeps an earlier version of a module is still
// checked by the policies of today. Nothing is evaluated.
func Former(former, current []byte) ([]byte, error) {
	old, err := Decode(former)
	if err != nil {
		return nil, err
	}
	s, err := Decode(current)
	if err != nil {
		return nil, err
	}
	s.Module = old.Module
	return s.Encode()
}
