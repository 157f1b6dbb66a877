package edge

// Convert returns the items of a list, converted one by one.
func Convert[S, E any](list []S, convert func(S) E) []E {
	out := make([]E, len(list))
	for i, item := range list {
		out[i] = convert(item)
	}
	return out
}

// Given returns message, or an empty one if the request has none, so that the fields can
// be read as pointers, which tell what is not given from what is empty.
func Given[T any](message *T) *T {
	if message == nil {
		return new(T)
	}
	return message
}
