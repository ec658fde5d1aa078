// Only how far it is from the light counts.
void main() {
}
