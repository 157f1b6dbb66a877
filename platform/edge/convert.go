package edge

// Convert returns a list with each item converted.
func Convert[S, E any](list []S, convert func(S) E) []E {
	out := make([]E, len(list))
	for i, item := range list {
		out[i] = convert(item)
	}
	return out
}

// OrEmpty returns message, or an empty one if it is nil. Callers can then read its fields as
// pointers, which distinguish an absent field from an empty one.
func OrEmpty[T any](message *T) *T {
	if message == nil {
		return new(T)
	}
	return message
}
