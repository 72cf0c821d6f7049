from wing import drag, lift, moment

print(f"lift={lift}")
print(f"drag={drag}")
print(f"moment={moment}")
