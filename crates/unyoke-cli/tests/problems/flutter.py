import json

from wing import ratio

print(json.dumps({"flutter": 12 / ratio, "cost": 4 + ratio}))
