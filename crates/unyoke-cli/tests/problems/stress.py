from wing import chord, span

print(2 * span**2 / chord)
