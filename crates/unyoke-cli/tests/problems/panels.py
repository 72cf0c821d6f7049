from wing import lift

print(lift)
