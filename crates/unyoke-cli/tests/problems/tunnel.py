from wing import lift

print(f"lift = {lift} +/- {0.01 * lift + 0.02}")
