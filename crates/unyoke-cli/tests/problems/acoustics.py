from wing import area

print(40 + area)
