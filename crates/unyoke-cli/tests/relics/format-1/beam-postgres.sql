
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

CREATE SCHEMA unyoke;

SET default_tablespace = '';

SET default_table_access_method = heap;

CREATE TABLE unyoke.journal (
    study text NOT NULL,
    "position" bigint NOT NULL,
    record text NOT NULL,
    checksum bigint,
    token text,
    CONSTRAINT journal_position_check CHECK (("position" >= 0))
);

CREATE TABLE unyoke.late (
    number bigint NOT NULL,
    study text NOT NULL,
    evaluation bigint NOT NULL,
    attempt bigint NOT NULL,
    outcome text NOT NULL,
    token text
);

ALTER TABLE unyoke.late ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME unyoke.late_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE unyoke.layout (
    version bigint NOT NULL
);

CREATE TABLE unyoke.lease (
    study text NOT NULL,
    evaluation bigint NOT NULL,
    attempt bigint NOT NULL,
    owner text NOT NULL,
    expires timestamp with time zone,
    token text
);

INSERT INTO unyoke.journal VALUES ('beam', 0, '{"format":1,"event":"created","problem":{"parameters":[{"type":"continuous","name":"width","low":0.02,"high":0.2},{"type":"continuous","name":"length","low":0.5,"high":2.0,"scale":"log"},{"type":"integer","name":"ribs","low":0,"high":4},{"type":"categorical","name":"material","choices":["steel","oak"]}],"objectives":[{"name":"mass","direction":"minimise","cost":1.0},{"name":"stiffness","direction":"maximise","cost":8.0,"noise":"noisy"}]},"config":{"algorithm":"c-mokg","initial":{"designs":6},"weights":16,"preference":"uniform","units":"standardised","lengthscales":"per_input","deterministic":"interpolated","discretisation":"auto","search":{"raw":256,"restarts":16,"iterations":60},"front":{"population":200,"generations":100}},"seed":7}', 131437083, 'f77eb10f5c767e064866039ead78f4f1');
INSERT INTO unyoke.journal VALUES ('beam', 1, '{"format":1,"event":"asked","evaluation":0,"design":{"length":0.5511510284905528,"material":"steel","ribs":2,"width":0.13134086436824874},"objective":"mass","cost":1.0,"initial":true}', 2630631743, '20cf17db78d0cd1de1aae3c17ec3011e');
INSERT INTO unyoke.journal VALUES ('beam', 2, '{"format":1,"event":"told","evaluation":0,"value":0.6819011063559337}', 1326341536, 'b6c69209f8b268f3861089d4aa30818e');
INSERT INTO unyoke.journal VALUES ('beam', 3, '{"format":1,"event":"asked","evaluation":1,"design":{"length":0.5511510284905528,"material":"steel","ribs":2,"width":0.13134086436824874},"objective":"stiffness","cost":8.0,"initial":true}', 1654669634, '10745853f45a40e56a2733063fd28279');
INSERT INTO unyoke.journal VALUES ('beam', 4, '{"format":1,"event":"told","evaluation":1,"value":4.547021640716905}', 735063620, 'fc0d6795aae2b5f6145775f1e3bc54b8');
INSERT INTO unyoke.journal VALUES ('beam', 5, '{"format":1,"event":"asked","evaluation":2,"design":{"length":0.5511510284905528,"material":"steel","ribs":2,"width":0.13134086436824874},"objective":"mass","cost":1.0,"initial":true}', 4223908707, '5e0c11bd4579fefe400f1e196feb301f');
INSERT INTO unyoke.journal VALUES ('beam', 6, '{"format":1,"event":"told","evaluation":2,"value":0.6819011063559337}', 945725186, 'a581e78bf9ede87848e9402445c5daae');
INSERT INTO unyoke.journal VALUES ('beam', 7, '{"format":1,"event":"asked","evaluation":3,"design":{"length":0.5511510284905528,"material":"steel","ribs":2,"width":0.13134086436824874},"objective":"stiffness","cost":8.0,"initial":true}', 1467494166, 'c70ced02829de2ede9261926dd992b54');
INSERT INTO unyoke.journal VALUES ('beam', 8, '{"format":1,"event":"told","evaluation":3,"value":4.547021640716905}', 3574695475, '0be95bffae6f9251d5e90bed4226a396');
INSERT INTO unyoke.journal VALUES ('beam', 9, '{"format":1,"event":"asked","evaluation":4,"design":{"length":0.5511510284905528,"material":"steel","ribs":2,"width":0.13134086436824874},"objective":"mass","cost":1.0,"initial":true}', 1389606279, '74a3b09e33d03b6dd8d40632da0a90fb');
INSERT INTO unyoke.journal VALUES ('beam', 10, '{"format":1,"event":"told","evaluation":4,"value":0.6819011063559337}', 2712656100, 'd7bdc9236a11168d4887e02601dc1f00');
INSERT INTO unyoke.journal VALUES ('beam', 11, '{"format":1,"event":"asked","evaluation":5,"design":{"length":0.5511510284905528,"material":"steel","ribs":2,"width":0.13134086436824874},"objective":"stiffness","cost":8.0,"initial":true}', 152083946, '363d8def07fe071bc02d3b0ce28379b1');
INSERT INTO unyoke.journal VALUES ('beam', 12, '{"format":1,"event":"told","evaluation":5,"value":4.547021640716905}', 2218018374, '034a2eda16f50ca9d2785cf7d11406c6');
INSERT INTO unyoke.journal VALUES ('beam', 13, '{"format":1,"event":"asked","evaluation":6,"design":{"length":0.5511510284905528,"material":"steel","ribs":2,"width":0.13134086436824874},"objective":"mass","cost":1.0,"initial":true}', 903630811, '8eb7fc2a23cbdd8a0646b688a40a6dbe');
INSERT INTO unyoke.journal VALUES ('beam', 14, '{"format":1,"event":"told","evaluation":6,"value":0.6819011063559337}', 3607042630, '4eaac84d6ac5a270a7d46757a0b4f782');
INSERT INTO unyoke.journal VALUES ('beam', 15, '{"format":1,"event":"asked","evaluation":7,"design":{"length":0.5511510284905528,"material":"steel","ribs":2,"width":0.13134086436824874},"objective":"stiffness","cost":8.0,"initial":true}', 1019802558, 'd744fb716ea1fac4fa2069be8aaf2d9d');
INSERT INTO unyoke.journal VALUES ('beam', 16, '{"format":1,"event":"told","evaluation":7,"value":4.547021640716905}', 4091793564, '29e7774a8789d307f76ee74e6449e7b0');
INSERT INTO unyoke.journal VALUES ('beam', 17, '{"format":1,"event":"asked","evaluation":8,"design":{"length":0.5511510284905528,"material":"steel","ribs":2,"width":0.13134086436824874},"objective":"mass","cost":1.0,"initial":true}', 3682774542, 'f633c8d3538a920db6298f525cb81396');
INSERT INTO unyoke.journal VALUES ('beam', 18, '{"format":1,"event":"told","evaluation":8,"value":0.6819011063559337}', 1228689769, '2cf83cdeb3d950e22cb840888606cb0b');
INSERT INTO unyoke.journal VALUES ('beam', 19, '{"format":1,"event":"asked","evaluation":9,"design":{"length":0.5511510284905528,"material":"steel","ribs":2,"width":0.13134086436824874},"objective":"stiffness","cost":8.0,"initial":true}', 3049388050, '6a4269b604ad17a9d30fa9b49a39dfc3');
INSERT INTO unyoke.journal VALUES ('beam', 20, '{"format":1,"event":"told","evaluation":9,"value":4.547021640716905}', 2942957569, 'd68cc1a131464cd7c8354bbe62899a3a');
INSERT INTO unyoke.journal VALUES ('beam', 21, '{"format":1,"event":"asked","evaluation":10,"design":{"length":0.5511510284905528,"material":"steel","ribs":2,"width":0.13134086436824874},"objective":"mass","cost":1.0,"initial":true}', 3705182331, '209546ef68b441604ec79936b2719252');
INSERT INTO unyoke.journal VALUES ('beam', 22, '{"format":1,"event":"told","evaluation":10,"value":0.6819011063559337}', 859935224, '96ced5988a2af33436ed6c74d061c62c');
INSERT INTO unyoke.journal VALUES ('beam', 23, '{"format":1,"event":"asked","evaluation":11,"design":{"length":0.5511510284905528,"material":"steel","ribs":2,"width":0.13134086436824874},"objective":"stiffness","cost":8.0,"initial":true}', 423978214, '9014c8a3c77c92c7909f3cda2a14d767');
INSERT INTO unyoke.journal VALUES ('beam', 24, '{"format":1,"event":"told","evaluation":11,"value":4.547021640716905}', 2074166406, '31f28bfb991a13fe1e8bf95de5227e4c');
INSERT INTO unyoke.journal VALUES ('beam', 25, '{"format":1,"event":"asked","evaluation":12,"design":{"length":0.5669873107863262,"material":"steel","ribs":4,"width":0.03749976139900488},"objective":"mass","cost":1.0,"initial":false}', 2028429727, '6f24ae79ac178837d0bcb0a6ed2f8a32');
INSERT INTO unyoke.journal VALUES ('beam', 26, '{"format":1,"event":"told","evaluation":12,"value":0.2336681586895497}', 4208975028, '7624d4b39ade8e00f2095bd45559a564');
INSERT INTO unyoke.journal VALUES ('beam', 27, '{"format":1,"event":"asked","evaluation":13,"design":{"length":0.6001802915431069,"material":"steel","ribs":4,"width":0.02},"objective":"mass","cost":1.0,"initial":false}', 2918104677, 'b8defd1a357ca0dfa1615849d6d283fc');
INSERT INTO unyoke.journal VALUES ('beam', 28, '{"format":1,"event":"told","evaluation":13,"value":0.13191962808117488}', 1542194100, '18b273a19a3969a422b5e19c46dfcd85');
INSERT INTO unyoke.journal VALUES ('beam', 29, '{"format":1,"event":"asked","evaluation":14,"design":{"length":0.9294408677160412,"material":"steel","ribs":4,"width":0.02},"objective":"mass","cost":1.0,"initial":false}', 3209097403, '6668a6722f5be24d1269250b26d32892');
INSERT INTO unyoke.journal VALUES ('beam', 30, '{"format":1,"event":"told","evaluation":14,"value":0.20429110272398585}', 925816896, 'e29abcbf2876ace665e1a8f0a4a7d27f');
INSERT INTO unyoke.journal VALUES ('beam', 31, '{"format":1,"event":"asked","evaluation":15,"design":{"length":0.6406812914085505,"material":"steel","ribs":3,"width":0.02},"objective":"mass","cost":1.0,"initial":false}', 782150701, '9aa7c89b18e12ee412c85b54c74920c1');
INSERT INTO unyoke.journal VALUES ('beam', 32, '{"format":1,"event":"told","evaluation":15,"value":0.13076305157648516}', 843596720, '0593b67dd34f2a5dbaa473880ac65caf');
INSERT INTO unyoke.journal VALUES ('beam', 33, '{"format":1,"event":"asked","evaluation":16,"design":{"length":1.007348799097029,"material":"steel","ribs":1,"width":0.02},"objective":"mass","cost":1.0,"initial":false}', 3094773734, '26e933ad1c03da046a623bacdc6e7c19');
INSERT INTO unyoke.journal VALUES ('beam', 34, '{"format":1,"event":"told","evaluation":16,"value":0.1739691376040569}', 1804297520, 'baf348e549ea755f13bd34b047a945cf');
INSERT INTO unyoke.journal VALUES ('beam', 35, '{"format":1,"event":"asked","evaluation":17,"design":{"length":0.5599884943683028,"material":"steel","ribs":0,"width":0.02},"objective":"mass","cost":1.0,"initial":false}', 1785722677, '4a34c23c7d92ca42ce79e1c9b61fcd3e');
INSERT INTO unyoke.journal VALUES ('beam', 36, '{"format":1,"event":"told","evaluation":17,"value":0.08791819361582354}', 2975023, '1fc5b38cbd2a9fe2510776c9866d5c12');
INSERT INTO unyoke.journal VALUES ('beam', 37, '{"format":1,"event":"asked","evaluation":18,"design":{"length":0.5587258027544786,"material":"steel","ribs":4,"width":0.02},"objective":"stiffness","cost":8.0,"initial":false}', 758241848, '04b07ba61b25ac49ee9f3893983b87c1');
INSERT INTO unyoke.journal VALUES ('beam', 38, '{"format":1,"event":"failed","evaluation":18,"reason":"the command failed with exit code 1: the mesh collapsed"}', 2136843133, 'ce803500a9262c6c304e8ea594964b65');
INSERT INTO unyoke.journal VALUES ('beam', 39, '{"format":1,"event":"asked","evaluation":19,"design":{"length":0.558393374054714,"material":"steel","ribs":0,"width":0.02065316774803536},"objective":"stiffness","cost":8.0,"initial":false}', 807298545, '53189a5a0498c4525d8ac9a871093161');
INSERT INTO unyoke.journal VALUES ('beam', 40, '{"format":1,"event":"failed","evaluation":19,"reason":"the command failed with exit code 1: the mesh collapsed"}', 701355659, 'cec3d539497e1894aae84f8ffb67285c');
INSERT INTO unyoke.journal VALUES ('beam', 41, '{"format":1,"event":"asked","evaluation":20,"design":{"length":0.5,"material":"steel","ribs":1,"width":0.02},"objective":"mass","cost":1.0,"initial":false}', 1383698877, 'a9778c57564316df163fc11912e764b4');
INSERT INTO unyoke.journal VALUES ('beam', 42, '{"format":1,"event":"told","evaluation":20,"value":0.08635000000000001}', 1679562606, 'befaaafea4f651efa6049abf68cd2c88');
INSERT INTO unyoke.journal VALUES ('beam', 43, '{"format":1,"event":"asked","evaluation":21,"design":{"length":1.209096543566855,"material":"steel","ribs":0,"width":0.02},"objective":"stiffness","cost":8.0,"initial":false}', 3485959199, '2d56dbe96e3c84c65cf43bca445261cd');
INSERT INTO unyoke.journal VALUES ('beam', 44, '{"format":1,"event":"failed","evaluation":21,"reason":"the command failed with exit code 1: the mesh collapsed"}', 4115780436, 'b8a1943fb2d732f7484891f635bf8fd3');
INSERT INTO unyoke.journal VALUES ('beam', 45, '{"format":1,"event":"asked","evaluation":22,"design":{"length":0.5,"material":"steel","ribs":2,"width":0.02},"objective":"stiffness","cost":8.0,"initial":false}', 3395970912, 'f58be4d63370a07d471bd3a3de5a9a26');
INSERT INTO unyoke.journal VALUES ('beam', 46, '{"format":1,"event":"failed","evaluation":22,"reason":"the command failed with exit code 1: the mesh collapsed"}', 2822998610, '23440135cb813c83ea3781bc4035bf25');
INSERT INTO unyoke.journal VALUES ('beam', 47, '{"format":1,"event":"asked","evaluation":23,"design":{"length":0.5,"material":"steel","ribs":0,"width":0.020003372146308485},"objective":"mass","cost":1.0,"initial":false}', 2749163434, 'e09f461ad1071bc021c8a885305aa5ea');
INSERT INTO unyoke.journal VALUES ('beam', 48, '{"format":1,"event":"told","evaluation":23,"value":0.0785132356742608}', 34558994, 'a0973f54eb9678a730f6f7e61fbc8ee8');
INSERT INTO unyoke.journal VALUES ('beam', 49, '{"format":1,"event":"asked","evaluation":24,"design":{"length":0.5,"material":"oak","ribs":1,"width":0.02},"objective":"mass","cost":1.0,"initial":false}', 3891825444, '2df2655dfced65e7e5cf85c0014577f8');
INSERT INTO unyoke.journal VALUES ('beam', 50, '{"format":1,"event":"told","evaluation":24,"value":0.0077}', 186791896, 'fc631c3b8007c471049ed6ccb121d645');
INSERT INTO unyoke.journal VALUES ('beam', 51, '{"format":1,"event":"asked","evaluation":25,"design":{"length":0.5,"material":"oak","ribs":4,"width":0.02},"objective":"mass","cost":1.0,"initial":false}', 3892533822, '424ad05249456f6fd3b9e7a8ae4d8e48');
INSERT INTO unyoke.journal VALUES ('beam', 52, '{"format":1,"event":"told","evaluation":25,"value":0.009799999999999998}', 1377710770, 'd5218427d638df9abb4d9a8b149c9cf1');
INSERT INTO unyoke.journal VALUES ('beam', 53, '{"format":1,"event":"asked","evaluation":26,"design":{"length":0.8151759580547212,"material":"oak","ribs":2,"width":0.02},"objective":"mass","cost":1.0,"initial":false}', 2615355271, '1d5d6eb31a80db9974da06f2506ab802');
INSERT INTO unyoke.journal VALUES ('beam', 54, '{"format":1,"event":"told","evaluation":26,"value":0.013694956095319314}', 98899880, '08f8e05f59ea3eb708321c02c5c71821');
INSERT INTO unyoke.journal VALUES ('beam', 55, '{"format":1,"event":"asked","evaluation":27,"design":{"length":0.5433447179446234,"material":"oak","ribs":2,"width":0.050742154565001335},"objective":"mass","cost":1.0,"initial":false}', 2258896992, '5eabb5b8c3e1e0f70b20f474bb86e409');
INSERT INTO unyoke.journal VALUES ('beam', 56, '{"format":1,"event":"told","evaluation":27,"value":0.02315920459441943}', 4019856308, '22ea2ac1c23540589a8634d0685c5b63');
INSERT INTO unyoke.journal VALUES ('beam', 57, '{"format":1,"event":"asked","evaluation":28,"design":{"length":0.8390781392650641,"material":"oak","ribs":0,"width":0.041687354604635886},"objective":"mass","cost":1.0,"initial":false}', 357588601, '20f30873e1adb6d7cb46c9f2c6cc0227');
INSERT INTO unyoke.journal VALUES ('beam', 58, '{"format":1,"event":"told","evaluation":28,"value":0.024485263552778545}', 1652395902, '3bbf5fb229b57881860d9b6f57be1dae');
INSERT INTO unyoke.journal VALUES ('beam', 59, '{"format":1,"event":"asked","evaluation":29,"design":{"length":1.232188122064249,"material":"oak","ribs":4,"width":0.05055176414472751},"objective":"mass","cost":1.0,"initial":false}', 3828378675, '762a8ca3e922ca962ef69f37c8ff9643');
INSERT INTO unyoke.journal VALUES ('beam', 60, '{"format":1,"event":"told","evaluation":29,"value":0.06104349766195608}', 2020280163, '93f107320523403395289d44dae24f31');
INSERT INTO unyoke.journal VALUES ('beam', 61, '{"format":1,"event":"imported","evaluation":30,"design":{"length":1.0,"material":"steel","ribs":2,"width":0.1},"objective":"mass","value":0.942}', 564017948, '6926e0707b808082d19a50d4a582beb1');
INSERT INTO unyoke.journal VALUES ('beam', 62, '{"format":1,"event":"imported","evaluation":31,"design":{"length":0.7,"material":"oak","ribs":1,"width":0.05},"objective":"stiffness","value":0.0052}', 3938781110, '6926e0707b808082d19a50d4a582beb1');
INSERT INTO unyoke.journal VALUES ('beam', 63, '{"format":1,"event":"asked","evaluation":32,"design":{"length":0.5,"material":"oak","ribs":4,"width":0.03177030324115754},"objective":"stiffness","cost":8.0,"initial":false}', 1468996891, '917fc68600684b0ed4b9a212042736bb');
INSERT INTO unyoke.journal VALUES ('beam', 64, '{"format":1,"event":"asked","evaluation":33,"design":{"length":1.610495114134352,"material":"oak","ribs":4,"width":0.037205514418964164},"objective":"stiffness","cost":8.0,"initial":false}', 1953953019, 'b615162a2b15c62c2fa02a363febc06d');
INSERT INTO unyoke.journal VALUES ('beam', 65, '{"format":1,"event":"cost_changed","objective":"stiffness","cost":9.0}', 1704731004, '2d963be0bb57d17772335f6e67d911ec');
INSERT INTO unyoke.journal VALUES ('beam', 66, '{"format":1,"event":"asked","evaluation":34,"design":{"length":1.1641633295276153,"material":"steel","ribs":3,"width":0.02},"objective":"stiffness","cost":9.0,"initial":false}', 1732585272, '2178f9477e86fbf2b6e0594ad3870538');
INSERT INTO unyoke.journal VALUES ('beam', 67, '{"format":1,"event":"withdrawn","evaluation":32}', 3547901841, '3b8c818ff8639ff3985fde92acf6dbea');
INSERT INTO unyoke.journal VALUES ('beam', 68, '{"format":1,"event":"told","evaluation":33,"value":0.0011}', 4202075462, '9b94c13aecdb9b2727247d2f37749606');

INSERT INTO unyoke.layout VALUES (3);

INSERT INTO unyoke.lease VALUES ('beam', 0, 1, 'vm-23012-yg6XXy5Z', NULL, '20cf17db78d0cd1de1aae3c17ec3011e');
INSERT INTO unyoke.lease VALUES ('beam', 16, 1, 'vm-23012-yg6XXy5Z', NULL, '26e933ad1c03da046a623bacdc6e7c19');
INSERT INTO unyoke.lease VALUES ('beam', 1, 1, 'vm-23012-yg6XXy5Z', NULL, '10745853f45a40e56a2733063fd28279');
INSERT INTO unyoke.lease VALUES ('beam', 28, 1, 'vm-23012-yg6XXy5Z', NULL, '20f30873e1adb6d7cb46c9f2c6cc0227');
INSERT INTO unyoke.lease VALUES ('beam', 2, 1, 'vm-23012-yg6XXy5Z', NULL, '5e0c11bd4579fefe400f1e196feb301f');
INSERT INTO unyoke.lease VALUES ('beam', 17, 1, 'vm-23012-yg6XXy5Z', NULL, '4a34c23c7d92ca42ce79e1c9b61fcd3e');
INSERT INTO unyoke.lease VALUES ('beam', 3, 1, 'vm-23012-yg6XXy5Z', NULL, 'c70ced02829de2ede9261926dd992b54');
INSERT INTO unyoke.lease VALUES ('beam', 4, 1, 'vm-23012-yg6XXy5Z', NULL, '74a3b09e33d03b6dd8d40632da0a90fb');
INSERT INTO unyoke.lease VALUES ('beam', 18, 1, 'vm-23012-yg6XXy5Z', NULL, '04b07ba61b25ac49ee9f3893983b87c1');
INSERT INTO unyoke.lease VALUES ('beam', 5, 1, 'vm-23012-yg6XXy5Z', NULL, '363d8def07fe071bc02d3b0ce28379b1');
INSERT INTO unyoke.lease VALUES ('beam', 29, 1, 'vm-23012-yg6XXy5Z', NULL, '762a8ca3e922ca962ef69f37c8ff9643');
INSERT INTO unyoke.lease VALUES ('beam', 6, 1, 'vm-23012-yg6XXy5Z', NULL, '8eb7fc2a23cbdd8a0646b688a40a6dbe');
INSERT INTO unyoke.lease VALUES ('beam', 19, 1, 'vm-23012-yg6XXy5Z', NULL, '53189a5a0498c4525d8ac9a871093161');
INSERT INTO unyoke.lease VALUES ('beam', 7, 1, 'vm-23012-yg6XXy5Z', NULL, 'd744fb716ea1fac4fa2069be8aaf2d9d');
INSERT INTO unyoke.lease VALUES ('beam', 34, 1, 'by hand', '2076-11-03 15:58:54.990344+00', '9a2fce59a598e30d908aa8c47cb2c1bb');
INSERT INTO unyoke.lease VALUES ('beam', 8, 1, 'vm-23012-yg6XXy5Z', NULL, 'f633c8d3538a920db6298f525cb81396');
INSERT INTO unyoke.lease VALUES ('beam', 20, 1, 'vm-23012-yg6XXy5Z', NULL, 'a9778c57564316df163fc11912e764b4');
INSERT INTO unyoke.lease VALUES ('beam', 9, 1, 'vm-23012-yg6XXy5Z', NULL, '6a4269b604ad17a9d30fa9b49a39dfc3');
INSERT INTO unyoke.lease VALUES ('beam', 32, 1, 'by hand', NULL, '935da54d07b9aa9dbfc701c69c6c2c22');
INSERT INTO unyoke.lease VALUES ('beam', 33, 1, 'by hand', NULL, 'fb9fffb682c77da44864690917008e6d');
INSERT INTO unyoke.lease VALUES ('beam', 10, 1, 'vm-23012-yg6XXy5Z', NULL, '209546ef68b441604ec79936b2719252');
INSERT INTO unyoke.lease VALUES ('beam', 21, 1, 'vm-23012-yg6XXy5Z', NULL, '2d56dbe96e3c84c65cf43bca445261cd');
INSERT INTO unyoke.lease VALUES ('beam', 11, 1, 'vm-23012-yg6XXy5Z', NULL, '9014c8a3c77c92c7909f3cda2a14d767');
INSERT INTO unyoke.lease VALUES ('beam', 12, 1, 'vm-23012-yg6XXy5Z', NULL, '6f24ae79ac178837d0bcb0a6ed2f8a32');
INSERT INTO unyoke.lease VALUES ('beam', 22, 1, 'vm-23012-yg6XXy5Z', NULL, 'f58be4d63370a07d471bd3a3de5a9a26');
INSERT INTO unyoke.lease VALUES ('beam', 13, 1, 'vm-23012-yg6XXy5Z', NULL, 'b8defd1a357ca0dfa1615849d6d283fc');
INSERT INTO unyoke.lease VALUES ('beam', 14, 1, 'vm-23012-yg6XXy5Z', NULL, '6668a6722f5be24d1269250b26d32892');
INSERT INTO unyoke.lease VALUES ('beam', 23, 1, 'vm-23012-yg6XXy5Z', NULL, 'e09f461ad1071bc021c8a885305aa5ea');
INSERT INTO unyoke.lease VALUES ('beam', 15, 1, 'vm-23012-yg6XXy5Z', NULL, '9aa7c89b18e12ee412c85b54c74920c1');
INSERT INTO unyoke.lease VALUES ('beam', 24, 1, 'vm-23012-yg6XXy5Z', NULL, '2df2655dfced65e7e5cf85c0014577f8');
INSERT INTO unyoke.lease VALUES ('beam', 25, 1, 'vm-23012-yg6XXy5Z', NULL, '424ad05249456f6fd3b9e7a8ae4d8e48');
INSERT INTO unyoke.lease VALUES ('beam', 26, 1, 'vm-23012-yg6XXy5Z', NULL, '1d5d6eb31a80db9974da06f2506ab802');
INSERT INTO unyoke.lease VALUES ('beam', 27, 1, 'vm-23012-yg6XXy5Z', NULL, '5eabb5b8c3e1e0f70b20f474bb86e409');

SELECT pg_catalog.setval('unyoke.late_number_seq', 1, false);

ALTER TABLE ONLY unyoke.journal
    ADD CONSTRAINT journal_pkey PRIMARY KEY (study, "position");

ALTER TABLE ONLY unyoke.late
    ADD CONSTRAINT late_pkey PRIMARY KEY (number);

ALTER TABLE ONLY unyoke.late
    ADD CONSTRAINT late_token_key UNIQUE (token);

ALTER TABLE ONLY unyoke.lease
    ADD CONSTRAINT lease_pkey PRIMARY KEY (study, evaluation);

CREATE INDEX late_study_idx ON unyoke.late USING btree (study);

